"""Calls about jobs, with advice where a refusal leaves open what to do."""

from collections.abc import Mapping
from typing import Any

from reme_compact.cli.client import call_service
from reme_compact.cli.service_keys import Service
from reme_compact.client.answers import Answer
from reme_compact.client.jobs import jobs_path
from reme_compact.client.problems import QUERY, ReportedProblemError

_AGAIN = "Submit the request again if its result is still wanted."


def call_jobs(
    service: Service,
    method: str,
    *parts: str,
    query: Mapping[str, str] | None = None,
    request: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
    timeout_seconds: float | None = None,
) -> Answer:
    """Call what is below `/jobs`; null is the service's own timeout.

    Raises:
        ServiceUnavailableError: nothing that speaks this protocol answered in time.
        ReportedError: the service refused, or the job failed.

    """
    timeout = service.timeout_seconds if timeout_seconds is None else timeout_seconds
    try:
        return call_service(
            service.address,
            method,
            jobs_path(*parts, query=query),
            request=request,
            headers=headers,
            timeout_seconds=timeout,
        )
    except ReportedProblemError as problem:
        raise advised(problem, service, parts[0] if parts else "") from None


def advised(problem: ReportedProblemError, service: Service, job_id: str) -> ReportedProblemError:
    """Return a problem with advice, if there is any beyond what the service says."""
    problem = problem.without_prefix(QUERY)
    code = problem.code
    if code in ("not_found", "method_not_allowed"):
        return problem.advised(
            f"The service at {service.address} has no jobs: it is older than this command line. Without jobs:\n"
            f"  {service.command('compact_context', 'key=value')} ..."
        )
    advice = {
        "job_not_found": "It may have been removed after a while, it may have ended with its service if that kept jobs "
        f"in memory, or it belongs to another API key. The jobs there are:\n  {service.command('jobs')}",
        "job_not_finished": f"Wait for it with:\n  {service.command('watch', job_id)}",
        "job_cancelled": _AGAIN,
        "job_expired": _AGAIN,
        "start_timeout": "A worker may be missing, or all are busy; start_within_seconds= lets a job wait longer.",
        "idempotency_conflict": "Give another idempotency_key=, or exactly the request that was sent with it before.",
        "too_many_jobs": f"Let some finish, or cancel some:\n  {service.command('jobs')}",
    }.get(code)
    return problem.advised(advice) if advice else problem
