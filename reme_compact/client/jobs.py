"""Whether an answer describes a job: checked once, before anything relies on its shape."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from pydantic import ValidationError

from reme_compact.client.answers import Answer
from reme_compact.contract.errors import JobNotFoundError
from reme_compact.contract.job import JobDocument, JobError, JobPage, JobProgress
from reme_compact.contract.validation import problems_of
from reme_compact.jobs.identity import is_job_id


def jobs_path(*parts: str, query: Mapping[str, str] | None = None) -> str:
    """Return a path below `/jobs`, percent-encoded."""
    path = "/".join(("/jobs", *(quote(part, safe="") for part in parts)))
    return f"{path}?{urlencode(query)}" if query else path


def checked_id(job_id: str) -> str:
    """Return an id that can be one.

    Raises:
        JobNotFoundError: it cannot, so that there is nothing to ask about.

    """
    if not is_job_id(job_id):
        raise JobNotFoundError("There is no such job: this is not the id of one.")
    return job_id


def job_of(answer: Answer) -> JobDocument:
    """Return the job that a service answered.

    Further fields are let through: a newer service may have more to say.

    Raises:
        ServiceUnreachableError: it is none, so whoever answered is no service.

    """
    return _job(answer, answer.value)


def page_of(answer: Answer) -> JobPage:
    """Return the jobs that a service answered.

    Raises:
        ServiceUnreachableError: these are none, so whoever answered is no service.

    """
    page = answer.value
    cursor = page.get("next_cursor") if isinstance(page, dict) else 0
    if not isinstance(page, dict) or not isinstance(page.get("jobs"), list) or not isinstance(cursor, str | None):
        raise answer.unlike_a_service("no page of jobs")
    return JobPage(jobs=[_job(answer, one) for one in page["jobs"]], next_cursor=cursor)


def _job(answer: Answer, value: Any) -> JobDocument:
    if not isinstance(value, dict):
        raise answer.unlike_a_service("no job")
    known = _known_fields(JobDocument, value) | {
        name: _known_fields(model, value[name])
        for name, model in (("progress", JobProgress), ("error", JobError))
        if name in value
    }
    try:
        job = JobDocument.model_validate(known)
    except ValidationError as error:
        problem = problems_of(error, JobDocument)[0]
        raise answer.unlike_a_service(f"{problem['path']}: {problem['message']}") from None
    if not is_job_id(job.id):
        raise answer.unlike_a_service("id: is not the id of a job")
    return job


def _known_fields(model: type[JobDocument | JobProgress | JobError], value: Any) -> Any:
    return {name: value[name] for name in model.model_fields if name in value} if isinstance(value, dict) else value
