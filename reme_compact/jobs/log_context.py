"""Which job a log line is about, without every line having to say so."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_job_id: ContextVar[str | None] = ContextVar("reme_job_id", default=None)


@contextmanager
def logging_for_job(job_id: str) -> Iterator[None]:
    """Mark everything that is logged meanwhile, here and in the tasks and threads that start here, as this job's."""
    token = _job_id.set(job_id)
    try:
        yield
    finally:
        _job_id.reset(token)


def current_job_id() -> str | None:
    """Return the job that the running code works for."""
    return _job_id.get()
