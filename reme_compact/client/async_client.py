"""The asynchronous client."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from functools import partial
from importlib.util import find_spec
from ssl import SSLContext
from types import TracebackType
from typing import Any, Self, TypeVar
from weakref import WeakSet

import anyio
from anyio import to_thread

from reme_compact.archive.pieces import DEFAULT_PIECE_CHARS, Piece
from reme_compact.client import requests
from reme_compact.client.answers import Answer, answer_of
from reme_compact.client.calls import Call, Conversation, converse_async
from reme_compact.client.errors import AnswerLostError
from reme_compact.client.following import Following
from reme_compact.client.job_events import events_sent
from reme_compact.client.originals import read_original, read_piece
from reme_compact.client.problems import ReportedProblemError, typed
from reme_compact.client.settings import checked_settings
from reme_compact.client.status import Health, Readiness, ask_health, ask_readiness
from reme_compact.contract.errors import MissingExtraError, ReMeError
from reme_compact.contract.job import JobDocument, JobEvent, JobPage, JobStatus
from reme_compact.contract.request import CompactionRequest
from reme_compact.contract.result import Response

T = TypeVar("T")

_CONNECTING_SECONDS = 60.0
_LARGE_BYTES = 1024 * 1024


class AsyncClient:
    """Calls a running service without blocking; many calls may be under way at once.

    Arguments, methods and errors are those of `Client`. A call that is cancelled closes its connection, and with that
    a proposal without an idempotency key is given up by the service, too.

    Raises:
        ConfigurationError: an argument cannot be what it should.
        MissingExtraError: the package h11 is not installed.

    """

    def __init__(
        self,
        address: str = "http://127.0.0.1:2333",
        api_key: str | None = None,
        timeout: float | None = None,
        *,
        retries: int = 0,
        tls: SSLContext | None = None,
    ) -> None:
        if find_spec("h11") is None:
            raise MissingExtraError("The asynchronous client", "client")
        self._settings = checked_settings(address, api_key=api_key, timeout=timeout, retries=retries, tls=tls)
        self._wait: Callable[[float], Awaitable[None]] = anyio.sleep
        self._streams: WeakSet[AsyncGenerator[JobEvent, None]] = WeakSet()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """End the streams of events that are still open."""
        for stream in list(self._streams):
            await stream.aclose()

    async def compact_context(
        self,
        request: CompactionRequest | Mapping[str, Any] | None = None,
        /,
        *,
        idempotency_key: str | None = None,
        **keys: Any,
    ) -> Response:
        """Ask for a proposal and wait for it; see `Client.compact_context`."""
        return await self._converse(requests.ask_for_proposal(requests.request_values(request, keys), idempotency_key))

    async def submit(
        self,
        request: CompactionRequest | Mapping[str, Any] | None = None,
        /,
        *,
        idempotency_key: str | None = None,
        start_within_seconds: float | None = None,
        **keys: Any,
    ) -> JobDocument:
        """Hand a request over as a job; see `Client.submit`."""
        values = requests.request_values(request, keys)
        return await self._converse(requests.ask_for_job(values, idempotency_key, start_within_seconds))

    async def job(self, job_id: str) -> JobDocument:
        """Return a job as it is now; see `Client.job`."""
        return await self._converse(requests.ask_about_job(job_id))

    async def jobs(self, *, status: JobStatus | None = None, limit: int | None = None) -> AsyncIterator[JobPage]:
        """Yield pages of jobs, the newest first; see `Client.jobs`."""
        cursor: str | None = None
        while True:
            page = await self._converse(requests.ask_for_page(status, limit, cursor))
            yield page
            if page.next_cursor is None:
                return
            cursor = page.next_cursor

    async def result(self, job_id: str) -> Response:
        """Return what a finished job answers; see `Client.result`."""
        return await self._converse(requests.ask_for_result(job_id))

    async def cancel(self, job_id: str) -> JobDocument:
        """Have a job cancelled and return what became of it; see `Client.cancel`."""
        return await self._converse(requests.ask_to_cancel(job_id))

    def events(self, job_id: str, last_event_id: str | None = None) -> AsyncGenerator[JobEvent, None]:
        """Yield what happens to a job, up to `finished`; see `Client.events`.

        Whoever leaves the loop early closes the stream with `contextlib.aclosing`, or leaves the client's block.
        """
        stream = self._follow(job_id, last_event_id)
        self._streams.add(stream)
        return stream

    async def wait(self, job_id: str) -> Response:
        """Wait until a job ends and return what it answers; see `Client.wait`."""
        async with aclosing(self._follow(job_id, None)) as events:
            async for _ in events:
                pass
        return await self.result(job_id)

    async def recover(self, reference: str, offset: int = 0, max_chars: int = DEFAULT_PIECE_CHARS) -> Piece:
        """Return a piece of the original that a preview stands for; see `Client.recover`."""
        return await self._converse(read_piece(reference, offset, max_chars))

    async def original(self, reference: str) -> str:
        """Return the whole original that a preview stands for; see `Client.original`."""
        return await self._converse(read_original(reference))

    async def ready(self) -> Readiness:
        """Return whether every part is there that jobs need, and what is missing."""
        return await self._converse(ask_readiness())

    async def health(self) -> Health:
        """Return that the process is alive, and which version it is."""
        return await self._converse(ask_health())

    async def _converse(self, conversation: Conversation[T]) -> T:
        try:
            return await converse_async(conversation, self._ask)
        except ReportedProblemError as problem:
            raise typed(problem) from None

    async def _ask(self, call: Call) -> Answer:
        from reme_compact.client.async_exchange import exchange_async  # noqa: PLC0415 - needs the extra

        settings, attempts = self._settings, self._settings.attempts_at(call)
        address, sent = settings.address, settings.with_key(call.sent)
        while True:
            try:
                reply = await exchange_async(address, sent, timeout_seconds=attempts.seconds_left(), tls=settings.tls)
                pause = attempts.pause_after(reply)
                if pause is None:
                    read = partial(answer_of, address, reply, accepts=call.accepts)
                    return await to_thread.run_sync(read) if len(reply.body) > _LARGE_BYTES else read()
            except AnswerLostError:
                pause = attempts.pause_after_loss()
                if pause is None:
                    raise
            await self._wait(pause)

    async def _follow(self, job_id: str, after: str | None) -> AsyncGenerator[JobEvent, None]:
        """Yield every event once, as `follow` does."""
        following = Following(after)
        try:
            while True:
                failure: ReMeError | None = None
                try:
                    async with aclosing(self._connect(job_id, following.after)) as events:
                        async for event in events:
                            if following.takes(event):
                                yield event
                            if event.type == "finished":
                                return
                except ReMeError as error:
                    failure = error
                seconds, _ = following.pause_after(failure)
                await self._wait(seconds)
        except ReportedProblemError as problem:
            raise typed(problem) from None

    def _connect(self, job_id: str, after: str | None) -> AsyncGenerator[JobEvent, None]:
        from reme_compact.client.async_exchange import events_async  # noqa: PLC0415 - needs the extra

        settings = self._settings
        sent = events_sent(job_id, after, settings.headers)
        timeout = settings.timeout_seconds or _CONNECTING_SECONDS
        return events_async(settings.address, sent, timeout_seconds=timeout, tls=settings.tls)
