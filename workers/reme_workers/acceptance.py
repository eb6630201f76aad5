"""The part of the store that takes jobs, cancels them and forgets them."""

from functools import partial
from hashlib import sha256
from typing import Any

from reme_compact.contract.errors import (
    IdempotencyConflictError,
    ReMeError,
    RequestTooLargeError,
    StorageFullError,
    TooBusyError,
    TooManyJobsError,
)
from reme_compact.contract.job import JobDocument
from reme_compact.jobs.record import Accepted, NewJob
from reme_workers import scripts
from reme_workers.compression import beside_the_loop, compress
from reme_workers.database import milliseconds
from reme_workers.job_fields import document_of, fields_of, time_of
from reme_workers.room import MakingRoom

UNCLAIMED_AFTER_SECONDS = 2.0
"""A job queued for so long is worth a look at the queue."""


class Acceptance(MakingRoom):
    """Takes jobs; part of `RedisStore`, whose protocol says what each method does."""

    async def create(self, job: NewJob) -> Accepted:
        """See `JobStore.create`; the request is compressed and stored under a key of its own."""
        size = len(job.body)
        content, digest = await beside_the_loop(size, partial(_prepare, job))
        what, answer = await self._try_to_create(job, content, digest)
        if what in _REFUSALS - {"too_large"} and await self._tidy((await self._due()).expiries):
            # Jobs that expired were still counted.
            what, answer = await self._try_to_create(job, content, digest)
        if what == "full" and await self._make_room(job.id, len(content)):
            what, answer = await self._try_to_create(job, content, digest)
        if what in _REFUSALS:
            raise self._refusal(what, job, len(content))
        if what == "conflict":
            raise IdempotencyConflictError(
                "This Idempotency-Key was used before with another request; use a new key for a new request."
            )
        fields = fields_of(answer)
        return Accepted(document_of(fields), is_new=what == "new", start_before=time_of(fields["start_before"]))

    async def cancel(self, job_id: str, owner: str | None) -> JobDocument:
        """See `JobStore.cancel`."""
        answer = await self._run(scripts.CANCEL, job_id, int(owner is None), owner or "")
        if answer is None:
            raise await self._why_not_there(job_id, owner)
        return document_of(fields_of(answer))

    async def forget(self, job_id: str) -> None:
        """See `JobStore.forget`."""
        await self._run(scripts.FORGET, job_id)

    async def _try_to_create(self, job: NewJob, content: bytes, digest: str) -> tuple[str, Any]:
        idempotency = self.keys.idempotency(job.owner, job.idempotency_key) if job.idempotency_key is not None else ""
        what, *rest = await self._run(
            scripts.CREATE,
            job.id,
            job.job,
            job.owner,
            content,
            digest,
            milliseconds(job.start_within_seconds),
            milliseconds(job.request.options.total_timeout_seconds),
            milliseconds(self._limits.results_expire_after_seconds),
            milliseconds(UNCLAIMED_AFTER_SECONDS),
            int(job.runs_from_acceptance),
            self._limits.max_active_jobs,
            "" if job.max_active_of_owner is None else job.max_active_of_owner,
            self._limits.max_stored_bytes,
            idempotency,
        )
        return what.decode(), rest[0] if rest else None

    def _refusal(self, what: str, job: NewJob, size: int) -> ReMeError:
        limits = self._limits
        if what == "busy":
            return TooBusyError(f"The service already has {limits.max_active_jobs} unfinished jobs; try again later.")
        if what == "too_many":
            return TooManyJobsError(
                f"This key already has {job.max_active_of_owner} unfinished jobs, as many as it may; "
                "wait for one to finish."
            )
        if what == "too_large":
            return RequestTooLargeError(
                f"The request takes {size} bytes when compressed, with its record more than all jobs together may "
                f"({limits.max_stored_bytes}, execution.max_stored_bytes)."
            )
        return StorageFullError(
            f"The request does not fit into what unfinished jobs leave of {limits.max_stored_bytes} bytes "
            "(execution.max_stored_bytes). Try again when some are finished."
        )


_REFUSALS = frozenset({"busy", "too_many", "too_large", "full"})


def _prepare(job: NewJob) -> tuple[bytes, str]:
    """Return the compressed request and a hash of what an idempotency key stands for."""
    digest = sha256(job.job.encode() + b"\n")
    digest.update(job.body)
    return compress([job.body]), digest.hexdigest()
