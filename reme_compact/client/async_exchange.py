"""One exchange over HTTP, or one stream of events, for the asynchronous client; see `exchange` and `job_events`."""

import http.client
from collections.abc import AsyncGenerator
from http import HTTPStatus
from ssl import SSLContext

import anyio
from h11 import Response

from reme_compact.client import job_events
from reme_compact.client.address import Address
from reme_compact.client.answers import json_or_none, refusal
from reme_compact.client.async_connection import AsyncConnection, headers_of
from reme_compact.client.job_events import EventReader
from reme_compact.client.sent import LONGEST_BODY, Reply, Sent
from reme_compact.client.unreachable import explained, silent
from reme_compact.contract.job import JobEvent

_FAILURES = (OSError, UnicodeError, http.client.HTTPException)


async def exchange_async(address: Address, sent: Sent, *, timeout_seconds: float, tls: SSLContext | None) -> Reply:
    """Send a request and read the whole reply.

    Raises:
        ServiceUnreachableError: nothing that speaks HTTP answered in time.
        InvalidAddressError: the address cannot be called.

    """
    try:
        with anyio.fail_after(timeout_seconds):
            connection = await AsyncConnection.open(address, tls)
            try:
                response = await connection.request(address, sent)
                return Reply(response.status_code, headers_of(response), await _body(connection))
            finally:
                await connection.close()
    except _FAILURES as error:
        raise explained(error, address, timeout_seconds) from None


async def events_async(
    address: Address,
    sent: Sent,
    *,
    timeout_seconds: float,
    tls: SSLContext | None,
) -> AsyncGenerator[JobEvent, None]:
    """Yield the events of a job as one connection brings them.

    No time limit spans a yield: it would bound what the caller does with an event.

    Raises:
        ServiceUnreachableError: nothing that speaks this protocol answered, or the connection broke.
        ReportedProblemError: the service refused, or failed on the way.

    """
    connection, response = await _begin(address, sent, timeout_seconds, tls)
    try:
        content_type = (headers_of(response).get("Content-Type") or "").partition(";")[0].strip().lower()
        reader = EventReader(address, response.status_code, content_type)
        while piece := await _next_piece(connection, address):
            for event in reader.feed(piece):
                yield event
    finally:
        await connection.close()


async def _begin(
    address: Address, sent: Sent, timeout_seconds: float, tls: SSLContext | None
) -> tuple[AsyncConnection, Response]:
    """Return a connection on which a stream has begun; a refusal is raised."""
    try:
        with anyio.fail_after(timeout_seconds):
            connection = await AsyncConnection.open(address, tls)
            try:
                response = await connection.request(address, sent)
                if response.status_code != HTTPStatus.OK:
                    raise refusal(address, response.status_code, json_or_none(await _body(connection)))
            except BaseException:
                await connection.close()
                raise
            return connection, response
    except _FAILURES as error:
        raise explained(error, address, timeout_seconds) from None


async def _next_piece(connection: AsyncConnection, address: Address) -> bytes:
    silence_seconds = job_events.SILENCE_SECONDS
    try:
        with anyio.fail_after(silence_seconds):
            return await connection.piece()
    except TimeoutError:
        raise silent(address, silence_seconds) from None
    except _FAILURES as error:
        raise explained(error, address, silence_seconds) from None


async def _body(connection: AsyncConnection) -> bytes:
    body = bytearray()
    while piece := await connection.piece():
        body += piece
        if len(body) > LONGEST_BODY:
            raise http.client.HTTPException
    return bytes(body)
