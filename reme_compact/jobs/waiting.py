"""Wait for the end of a job."""

from anyio import move_on_after

from reme_compact.contract.job import JobDocument
from reme_compact.jobs.store import JobStore


async def wait_until_final(store: JobStore, job_id: str, owner: str | None, seconds: float | None) -> JobDocument:
    """Return a job as soon as nothing about it changes any more, or as it is when the time is up.

    Args:
        store: where the job is.
        job_id: the job.
        owner: who asks; null is an administrator.
        seconds: the longest wait; null: as long as it takes.

    Raises:
        JobNotFoundError, JobExpiredError: it is not there (any more), or is none of this owner's.
        StoreUnavailableError: the store cannot be reached.
    """
    document = await store.get(job_id, owner)
    if document.is_final:
        return document
    with move_on_after(seconds):
        await store.ended(job_id)
    return await store.get(job_id, owner)
