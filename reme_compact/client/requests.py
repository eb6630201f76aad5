"""Requests for proposals and for jobs: what is sent, and what its answer is."""

import re
from collections.abc import Mapping
from typing import Any, cast

from pydantic import BaseModel

from reme_compact.client.calls import Call, Conversation
from reme_compact.client.jobs import checked_id, job_of, jobs_path, page_of
from reme_compact.client.proposals import response_of
from reme_compact.client.sent import json_sent
from reme_compact.contract.errors import InvalidRequestError
from reme_compact.contract.job import JobDocument, JobPage, JobStatus
from reme_compact.contract.options import CompactionOptions
from reme_compact.contract.request import CompactionRequest
from reme_compact.contract.result import Response

JOB = "compact_context"
_KEY = re.compile("[\x21-\x7e]{1,255}")
_SECONDS_BEYOND_SCORING = 30.0
_LONGEST_SCORING = 86_400.0


def ask_for_proposal(request: Mapping[str, Any], idempotency_key: str | None) -> Conversation[Response]:
    """Ask for a proposal, and wait for it."""
    sent = json_sent("POST", f"/{JOB}", request=request, headers=_named(idempotency_key))
    seconds = _scoring_seconds(request) + _SECONDS_BEYOND_SCORING
    answer = yield Call(sent, can_be_repeated=idempotency_key is not None, default_seconds=seconds)
    return response_of(answer)


def ask_for_job(
    request: Mapping[str, Any], idempotency_key: str | None, start_within_seconds: float | None
) -> Conversation[JobDocument]:
    """Hand a request over, and come back for its result."""
    query = {} if start_within_seconds is None else {"start_within_seconds": f"{start_within_seconds:.15g}"}
    sent = json_sent("POST", jobs_path(JOB, query=query), request=request, headers=_named(idempotency_key))
    answer = yield Call(sent, can_be_repeated=idempotency_key is not None)
    return job_of(answer)


def ask_about_job(job_id: str) -> Conversation[JobDocument]:
    """Ask how far a job is."""
    answer = yield Call(json_sent("GET", jobs_path(checked_id(job_id))))
    return job_of(answer)


def ask_for_page(status: JobStatus | None, limit: int | None, cursor: str | None) -> Conversation[JobPage]:
    """Ask for jobs; `cursor` as the page before said."""
    given = {"status": status, "limit": limit, "cursor": cursor}
    query = {name: str(value) for name, value in given.items() if value is not None}
    answer = yield Call(json_sent("GET", jobs_path(query=query)))
    return page_of(answer)


def ask_for_result(job_id: str) -> Conversation[Response]:
    """Fetch what a finished job answers."""
    answer = yield Call(json_sent("GET", jobs_path(checked_id(job_id), "result")))
    return response_of(answer)


def ask_to_cancel(job_id: str) -> Conversation[JobDocument]:
    """Have a job cancelled; one that is finished stays what it is."""
    answer = yield Call(json_sent("DELETE", jobs_path(checked_id(job_id))))
    return job_of(answer)


def request_values(request: CompactionRequest | Mapping[str, Any] | None, keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request as plain data; keys take the place of the request's own.

    Nothing is checked here: the service does, and may know more keys than this version.
    """
    return {name: _plain(value) for name, value in {**_keys_of(request), **keys}.items()}


def _keys_of(request: CompactionRequest | Mapping[str, Any] | None) -> dict[str, Any]:
    if isinstance(request, CompactionRequest):
        # Field by field, since a dump of the whole would copy the history.
        return {name: getattr(request, name) for name in request.model_fields_set}
    return dict(request or {})


def _plain(value: Any) -> Any:
    """Return the data of options and the like; anything else as it is."""
    return value.model_dump(exclude_unset=True) if isinstance(value, BaseModel) else value


def _named(idempotency_key: str | None) -> dict[str, str]:
    if idempotency_key is None:
        return {}
    if not _KEY.fullmatch(idempotency_key):
        problem = "must be 1 to 255 visible ASCII characters, without spaces"
        raise InvalidRequestError([{"path": "idempotency_key", "message": problem}])
    return {"Idempotency-Key": idempotency_key}


def _scoring_seconds(request: Mapping[str, Any]) -> float:
    options = request.get("options")
    given = options.get("total_timeout_seconds") if isinstance(options, Mapping) else None
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given <= _LONGEST_SCORING:
        return cast("float", CompactionOptions.model_fields["total_timeout_seconds"].default)
    return float(given)
