"""`/jobs`: start a compaction, look at it, fetch its result, cancel it."""

from contextlib import suppress
from functools import partial
from http import HTTPStatus

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from reme_compact.contract.errors import JobNotFoundError, ReportedError, TooBusyError
from reme_compact.contract.job import JobDocument, JobPage
from reme_compact.jobs.deployment import JOB
from reme_compact.jobs.identity import is_job_id
from reme_compact.jobs.waiting import wait_until_final
from reme_compact.service.answers import answer_in_pieces, json_answer
from reme_compact.service.disconnect import ClientGoneError, while_connected
from reme_compact.service.documented_compaction import REQUEST_BODY, CompactionResponse
from reme_compact.service.documented_headers import IDEMPOTENCY_KEY, LAST_EVENT_ID, PREFER
from reme_compact.service.documented_jobs import (
    accepted_responses,
    cancel_responses,
    event_responses,
    job_responses,
    page_responses,
    result_responses,
)
from reme_compact.service.event_stream import EventStream, last_event_id
from reme_compact.service.idempotency import idempotency_key, replay_headers
from reme_compact.service.prefer import preference_applied, preferred_wait
from reme_compact.service.problems import RETRY_AFTER_HEADER, problem_of_job
from reme_compact.service.query import PageQuery, query_parameters, read_query, submission_query
from reme_compact.service.state import ServiceState
from reme_compact.service.submission import accept_from


def job_routes(state: ServiceState) -> APIRouter:
    """Bind the paths to one service's state."""
    router = APIRouter(redirect_slashes=False)
    _add_submission(router, state)
    _add_reading(router, state)
    _add_result_and_events(router, state)
    return router


def _add_submission(router: APIRouter, state: ServiceState) -> None:
    query_model = submission_query(state.preset.execution.start_within_seconds)

    @router.post(
        "/jobs/compact_context",
        operation_id="submit_compact_context",
        status_code=HTTPStatus.ACCEPTED,
        response_model=JobDocument,
        responses=accepted_responses(),
        openapi_extra={
            "parameters": [*query_parameters(query_model), IDEMPOTENCY_KEY, PREFER],
            "requestBody": REQUEST_BODY,
        },
        summary="Propose a smaller history, and come back for it",
    )
    async def submit_compact_context(request: Request) -> Response:
        """Accept a compaction; it goes on when the connection is closed.

        `total_timeout_seconds` counts from its start, not from now.
        """
        key = idempotency_key(request.headers)
        start_within_seconds = read_query(request, query_model).start_within_seconds
        with state.slots.take():
            accepted = await accept_from(request, state, idempotency_key=key, start_within_seconds=start_within_seconds)
        document = accepted.document
        headers = replay_headers(accepted) | {"Location": f"{request.scope.get('root_path', '')}/jobs/{document.id}"}
        seconds = preferred_wait(request.headers.getlist("prefer"), state.preset.service.max_wait_seconds)
        if seconds is not None:
            wait = partial(wait_until_final, state.deployment.store, document.id, state.owner_of(request), seconds)
            # A preference is no condition: if too many wait already, or the client has shut down its side, the job
            # is accepted all the same.
            with suppress(TooBusyError, ClientGoneError), state.waiting_slots.take():
                document = await while_connected(request.receive, wait)
                headers["Preference-Applied"] = preference_applied(seconds)
        return _job(document, HTTPStatus.OK if document.is_final else HTTPStatus.ACCEPTED, headers)


def _add_reading(router: APIRouter, state: ServiceState) -> None:
    @router.get(
        "/jobs",
        operation_id="list_jobs",
        response_model=JobPage,
        responses=page_responses(),
        openapi_extra={"parameters": query_parameters(PageQuery)},
        summary="List jobs, the newest first",
    )
    async def list_jobs(request: Request) -> Response:
        query = read_query(request, PageQuery)
        page = await state.deployment.store.page(
            state.viewer_of(request), status=query.status, cursor=query.cursor or None, limit=query.limit
        )
        return json_answer(page.model_dump_json())

    @router.get(
        "/jobs/{job_id}",
        operation_id="get_job",
        response_model=JobDocument,
        responses=job_responses(),
        summary="How far is a job?",
    )
    async def get_job(request: Request, job_id: str) -> Response:
        _check_method(job_id)
        return _job(await state.deployment.store.get(known(job_id), state.viewer_of(request)))

    @router.delete(
        "/jobs/{job_id}",
        operation_id="cancel_job",
        response_model=JobDocument,
        responses=cancel_responses(),
        summary="Cancel a job",
    )
    async def cancel_job(request: Request, job_id: str) -> Response:
        """Cancel a job that is not finished; a finished one stays what it is."""
        _check_method(job_id)
        return _job(await state.deployment.store.cancel(known(job_id), state.viewer_of(request)))


def _add_result_and_events(router: APIRouter, state: ServiceState) -> None:
    @router.get(
        "/jobs/{job_id}/result",
        operation_id="get_job_result",
        response_model=CompactionResponse,
        responses=result_responses(),
        summary="Fetch the proposal",
    )
    async def get_job_result(request: Request, job_id: str) -> Response:
        """Return the proposal of a job that succeeded, or the error of one that did not."""
        try:
            pieces = await state.deployment.store.result(known(job_id), state.viewer_of(request))
        except ReportedError as error:
            return problem_of_job(job_id, error, HTTPStatus.CONFLICT)
        return answer_in_pieces(pieces)

    @router.get(
        "/jobs/{job_id}/events",
        operation_id="watch_job",
        status_code=HTTPStatus.OK,
        response_class=Response,  # the framework would describe an EventStream as one text
        responses=event_responses(),
        openapi_extra={"parameters": [LAST_EVENT_ID]},
        summary="Watch a job",
    )
    async def watch_job(request: Request, job_id: str) -> Response:
        """Stream what happened to a job and what goes on happening, up to `finished`.

        A stream that ends without it was interrupted: resume with the last id as Last-Event-ID.
        """
        after = last_event_id(request.headers)
        store, viewer = state.deployment.store, state.viewer_of(request)
        await store.get(known(job_id), viewer)
        return EventStream(
            store.events(job_id, viewer, after),
            slots=state.waiting_slots,
            stopping=state.end_of_streams,
            ping_seconds=state.ping_seconds,
        )


def _check_method(job_id: str) -> None:
    """Tell the path under which jobs are made from that of a job.

    Raises:
        HTTPException: it is that path, which takes only new jobs.
    """
    if job_id == JOB:
        raise HTTPException(HTTPStatus.METHOD_NOT_ALLOWED)


def known(job_id: str) -> str:
    """Return an id that can be one.

    Raises:
        JobNotFoundError: it cannot, so that there is nothing to look up.

    """
    if not is_job_id(job_id):
        raise JobNotFoundError("There is no such job.")
    return job_id


def _job(document: JobDocument, status: int = HTTPStatus.OK, headers: dict[str, str] | None = None) -> Response:
    again = {} if document.is_final else RETRY_AFTER_HEADER
    return json_answer(document.model_dump_json(), int(status), again | (headers or {}))
