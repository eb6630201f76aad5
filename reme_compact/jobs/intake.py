"""Accept a job: record it, then hand it to a runner, or leave nothing behind."""

import logging

from anyio import CancelScope, to_thread

from reme_compact.contract.errors import FieldProblem, InvalidRequestError, ReMeError
from reme_compact.contract.exception_places import exception_places
from reme_compact.contract.request import CompactionRequest
from reme_compact.jobs.clock import Clock, utc_now
from reme_compact.jobs.deployment import Deployment
from reme_compact.jobs.identity import new_job_id
from reme_compact.jobs.record import Accepted, NewJob
from reme_compact.jobs.store import JobStore
from reme_compact.presets.schema import ExecutionSettings

_AFTER_DEADLINE_SECONDS = 2.0
"""How long a job whose time runs from acceptance may be queued beyond it: whoever can start it does so at once."""

_MUCH_TO_READ_BYTES = 64 * 1024
"""A larger request is looked through in a thread."""

_log = logging.getLogger(__name__)


async def accept(
    deployment: Deployment,
    settings: ExecutionSettings,
    *,
    job: str,
    owner: str,
    request: CompactionRequest,
    body: bytes,
    start_within_seconds: float | None = None,
    runs_from_acceptance: bool = False,
    idempotency_key: str | None = None,
    max_active_of_owner: int | None = None,
    clock: Clock = utc_now,
) -> Accepted:
    """Accept a job and see to it that it is run, unless an idempotency key means an earlier one.

    A cancellation meanwhile takes effect afterwards, so that no job is recorded without being handed to the runner.

    Args:
        deployment: where jobs are kept and run.
        settings: the limits.
        job: what to do.
        owner: name of the API key, or `ANONYMOUS`.
        request: the validated request.
        body: the request as it was sent.
        start_within_seconds: how long it may wait to be started; null: as the settings say.
        runs_from_acceptance: `total_timeout_seconds` counts from now instead of the first start, so the job need not
            wait much longer than that.
        idempotency_key: the caller's name for this request.
        max_active_of_owner: unfinished jobs that the owner may have, this one included.
        clock: tells the time by which the job is named.

    Raises:
        RequestTooLargeError: see `JobStore.create`.
        InvalidRequestError: it may take, or wait, longer than this deployment allows, or has no token counter.
        IdempotencyConflictError, TooBusyError, TooManyJobsError, StorageFullError: see `JobStore.create`.
        StoreUnavailableError: store or queue cannot be reached.
        ServiceStoppingError: the service stops.
    """
    _check_times(settings, request, start_within_seconds)
    if len(body) > _MUCH_TO_READ_BYTES:
        await to_thread.run_sync(deployment.check_request, request)
    else:
        deployment.check_request(request)
    start_within = settings.start_within_seconds if start_within_seconds is None else start_within_seconds
    if runs_from_acceptance:
        start_within = min(start_within, request.options.total_timeout_seconds + _AFTER_DEADLINE_SECONDS)
    new = NewJob(
        id=new_job_id(clock()),
        job=job,
        owner=owner,
        request=request,
        body=body,
        start_within_seconds=start_within,
        runs_from_acceptance=runs_from_acceptance,
        idempotency_key=idempotency_key,
        max_active_of_owner=max_active_of_owner,
    )
    with CancelScope(shield=True):
        accepted = await deployment.store.create(new)
        if accepted.is_new:
            try:
                await deployment.runner.submit(new.id, accepted.start_before)
            except Exception:
                await _take_back(deployment.store, new.id)
                raise
    return accepted


def _check_times(settings: ExecutionSettings, request: CompactionRequest, start_within_seconds: float | None) -> None:
    problems: list[FieldProblem] = []
    longest = settings.longest_job_seconds
    if settings.runner == "celery" and request.options.total_timeout_seconds > longest:
        problems.append({"path": "options.total_timeout_seconds", "message": f"must be at most {longest:g} here"})
    if start_within_seconds is not None and not 0 < start_within_seconds <= settings.start_within_seconds:
        limit = f"must be greater than 0 and at most {settings.start_within_seconds:g} here"
        problems.append({"path": "start_within_seconds", "message": limit})
    if problems:
        raise InvalidRequestError(problems)


async def _take_back(store: JobStore, job_id: str) -> None:
    """Remove a job that no runner took; if that fails too, it times out."""
    try:
        await store.cancel(job_id, None)
        await store.forget(job_id)
    except ReMeError as error:
        _log.warning("A job that could not be handed over stays recorded: %s", exception_places(error))
