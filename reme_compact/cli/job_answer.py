"""Whether an answer describes a job: checked once, before anything relies on its shape."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from pydantic import ValidationError

from reme_compact.cli.client import Answer
from reme_compact.contract.job import JobDocument, JobError, JobPage, JobProgress
from reme_compact.contract.validation import problems_of
from reme_compact.jobs.identity import is_job_id


def job_of(answer: Answer) -> JobDocument:
    """Return the job that a service answered.

    Further fields are let through: a newer service may have more to say.

    Raises:
        ServiceUnavailableError: it is none, so whoever answered is no service.

    """
    return _job(answer, answer.value)


def page_of(answer: Answer) -> JobPage:
    """Return the jobs that a service answered.

    Raises:
        ServiceUnavailableError: these are none, so whoever answered is no service.

    """
    page = answer.value
    cursor = page.get("next_cursor") if isinstance(page, dict) else 0
    if not isinstance(page, dict) or not isinstance(page.get("jobs"), list) or not isinstance(cursor, str | None):
        raise answer.unlike_a_service("no page of jobs")
    return JobPage(jobs=[_job(answer, one) for one in page["jobs"]], next_cursor=cursor)


def time_of(answer: Answer) -> datetime:
    """Return the service's time when it answered, so that ages are right although clocks differ."""
    try:
        return in_utc(parsedate_to_datetime(answer.headers["Date"]))
    except (TypeError, ValueError):
        return datetime.now(UTC)


def in_utc(moment: datetime) -> datetime:
    """Return a moment in UTC; one without a zone is taken to be there already."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


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
