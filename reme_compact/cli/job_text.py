"""Jobs as people read them: a table of many, or one in detail."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from reme_compact.cli.job_answer import in_utc
from reme_compact.cli.printable import cut, printable
from reme_compact.contract.job import JobDocument, JobError, JobProgress

_HEADINGS = ("ID", "STATUS", "PROGRESS", "AGE", "ERROR")
_LONGEST_CODE = 40
_LONGEST_MESSAGE = 1000


def table(jobs: Iterable[JobDocument], now: datetime) -> str:
    """Return a line for each job below a line of headings.

    Args:
        jobs: the jobs.
        now: what ages are counted from.

    """
    rows = [
        _HEADINGS,
        *(
            (job.id, status(job), share(job.progress) or "-", age(job.created_at, now), _code(job.error) or "-")
            for job in jobs
        ),
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def detail(job: JobDocument, now: datetime) -> str:
    """Return everything about a job, a fact on each line."""
    facts = dict(_facts(job, now))
    width = max(map(len, facts))
    return "\n".join(f"{name:<{width}}  {fact}" for name, fact in facts.items())


def status(job: JobDocument) -> str:
    """Return the status, and what the job waits for."""
    return f"{job.status}, no {job.waiting_for}" if job.waiting_for else job.status


def share(progress: JobProgress) -> str:
    """Return how much of what is asked about has come back; nothing while that is not known."""
    return f"{progress.scored}/{progress.asked}" if progress.asked else ""


def age(then: datetime, now: datetime) -> str:
    """Return how long ago something was, in its largest unit."""
    passed = max(in_utc(now) - in_utc(then), timedelta())
    for unit, length in (("d", 86_400), ("h", 3600), ("min", 60)):
        if passed.total_seconds() >= length:
            return f"{passed.total_seconds() // length:.0f} {unit}"
    return f"{passed.total_seconds():.0f} s"


def error_text(error: JobError) -> str:
    """Return code and message of a failure, on one line."""
    again = " (trying again may help)" if error.retryable else ""
    return f"{_code(error)}: {cut(printable(error.message), _LONGEST_MESSAGE)}{again}"


def _code(error: JobError | None) -> str:
    return cut(printable(error.code), _LONGEST_CODE) if error else ""


def _facts(job: JobDocument, now: datetime) -> Iterator[tuple[str, str]]:
    yield "id", job.id
    yield "job", printable(job.job)
    yield "status", job.status
    if job.waiting_for:
        yield "waiting for", f"a {job.waiting_for}: none is there that could run it"
    if share(job.progress):
        yield "progress", _progress(job.progress)
    for name, moment in (("created", job.created_at), ("started", job.started_at), ("finished", job.finished_at)):
        if moment is not None:
            yield name, f"{_written(moment)} ({age(moment, now)} ago)"
    if job.expires_at is not None:
        yield "removed at", _written(job.expires_at)
    if job.error is not None:
        yield "error", error_text(job.error)


def _progress(progress: JobProgress) -> str:
    return (
        f"{progress.scored} of {progress.asked} scored, in {progress.batches_scored} of {progress.batches} requests; "
        f"{progress.candidates} candidates"
    )


def _written(moment: datetime) -> str:
    return f"{in_utc(moment):%Y-%m-%d %H:%M:%S} UTC"
