"""Deliver a request for a job so that it becomes one job, whatever happens to the answer."""

import re
import secrets
import shlex
import time
from collections.abc import Mapping
from typing import Any

from reme_compact.cli.job_calls import call_jobs
from reme_compact.cli.service_keys import Service
from reme_compact.cli.source import escape
from reme_compact.cli.usage import UsageError
from reme_compact.client.answers import Answer
from reme_compact.client.errors import AnswerLostError
from reme_compact.client.problems import ReportedProblemError
from reme_compact.contract.errors import ServiceUnavailableError

_KEY = re.compile("[\x21-\x7e]{1,255}")
_SHORTEST_TRY_SECONDS = 1.0


class UncertainDeliveryError(AnswerLostError):
    """Nobody knows whether the job was accepted; the message says how to find out.

    Attributes:
        idempotency_key: the name under which the request can be sent again.

    """

    def __init__(self, cause: ServiceUnavailableError, advice: str, idempotency_key: str) -> None:
        super().__init__(f"{cause.message}\n{advice}")
        self.idempotency_key = idempotency_key

    def extra(self) -> dict[str, Any]:
        """Return the key, for a program that wants to send the request again."""
        return {"idempotency_key": self.idempotency_key}


def idempotency_key(given: str | None) -> str:
    """Return the name of a request: the one that was given, or a new one.

    Raises:
        UsageError: what was given cannot be one.

    """
    if given is None:
        return f"reme-{secrets.token_hex(16)}"
    if not _KEY.fullmatch(given):
        raise UsageError("idempotency_key: must be 1 to 255 visible ASCII characters, without spaces.")
    return given


def deliver(
    service: Service,
    job: str,
    *,
    request: Mapping[str, Any],
    query: Mapping[str, str],
    headers: Mapping[str, str],
    key: str,
    timeout_seconds: float,
) -> Answer:
    """Send a request for a job, and once more if the answer to the first was lost and there is time.

    Args:
        service: where.
        job: what is asked for.
        request: sent as JSON.
        query: of the path.
        headers: besides the key.
        key: the name of the request, by which the service knows it again.
        timeout_seconds: for both together.

    Raises:
        UncertainDeliveryError: no answer came, but the request may have arrived.
        ServiceUnavailableError: nobody was there, or somebody else.
        ReportedError: the service refused.

    """
    named = {**headers, "Idempotency-Key": key}
    limit = time.monotonic() + timeout_seconds

    def send(seconds: float) -> Answer:
        return call_jobs(service, "POST", job, query=query, request=request, headers=named, timeout_seconds=seconds)

    try:
        return send(timeout_seconds)
    except AnswerLostError as error:
        lost = error
    left = limit - time.monotonic()
    if left < _SHORTEST_TRY_SECONDS:
        raise UncertainDeliveryError(lost, whereabouts(service, key), key) from None
    try:
        return send(left)
    except ServiceUnavailableError as error:
        raise UncertainDeliveryError(error, whereabouts(service, key), key) from None
    except ReportedProblemError as problem:
        raise problem.advised(whereabouts(service, key)) from None


def whereabouts(service: Service, key: str) -> str:
    """Say how to find a job that may have been accepted."""
    word = shlex.quote(f"idempotency_key={escape(key)}")
    return (
        f"The job may have been accepted all the same. To see it:\n  {service.command('jobs')}\n"
        f"Or call the same command again with this key, which gives the same job and not a second one:\n  {word}"
    )
