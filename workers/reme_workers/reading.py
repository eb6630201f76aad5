"""The part of the store that reads jobs: one, a page of them, results, figures."""

import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import NamedTuple

import orjson

from reme_compact.contract.errors import (
    InvalidRequestError,
    JobCancelledError,
    JobExpiredError,
    JobNotFinishedError,
    JobNotFoundError,
    ReMeError,
    ReportedError,
)
from reme_compact.contract.job import JOB_STATUSES, JobDocument, JobPage, JobStatus
from reme_compact.decision.outcome import BatchOutcome
from reme_compact.jobs.store import StoreFigures
from reme_workers import scripts
from reme_workers.compression import beside_the_loop, decompressed_pieces, decompressed_size
from reme_workers.database import Database
from reme_workers.job_fields import Fields, document_of, error_of, fields_of, status_of

NONCE_CHARACTERS = 16
"""A stored outcome begins with so many characters that name the request which stored it."""

_CURSOR = re.compile(r"([0-9]{1,15})-([\x21-\x7e]{1,100})")
_AT_ONCE = 200


class Due(NamedTuple):
    """Jobs whose time has come, by schedule (see `Keys`)."""

    to_start: list[str]
    unclaimed: list[str]
    leases: list[str]
    deadlines: list[str]
    expiries: list[str]


class Reading(Database):
    """Reads jobs; part of `RedisStore`, whose protocol says what each method does."""

    has_jobs_worker: Callable[[], Awaitable[bool]] | None = None
    """Tells whether a worker is there that could run a queued job; null: that is not known."""

    async def get(self, job_id: str, owner: str | None) -> JobDocument:
        """See `JobStore.get`."""
        return await self._document(await self._fields(job_id, owner))

    async def status(self, job_id: str) -> JobStatus | None:
        """Return how far a job is, at the cost of one small read; null: it is gone."""
        (status,) = await self._read(("HGET", self.keys.record(job_id), "status"))
        return status_of({"status": status.decode()}) if status is not None else None

    async def outcomes(self, job_id: str, batch_keys: Iterable[str]) -> dict[str, BatchOutcome]:
        """Return those outcomes of an unfinished job that there are, by `Batch.key()`."""
        wanted = list(batch_keys)
        if not wanted:
            return {}
        (found,) = await self._read(("HMGET", self.keys.outcomes(job_id), *wanted))
        return {key: outcome_of(stored) for key, stored in zip(wanted, found, strict=True) if stored is not None}

    async def page(self, owner: str | None, *, status: JobStatus | None, cursor: str | None, limit: int) -> JobPage:
        """See `JobStore.page`; a cursor is the time of a job's creation and its id."""
        before = _position_of(cursor) if cursor is not None else None
        key = self.keys.permanent[0] if owner is None else self.keys.jobs_of(owner)
        found: list[tuple[int, JobDocument]] = []
        async for created, fields in self._newest_first(key, before):
            if fields and (status is None or fields["status"] == status):
                found.append((created, await self._document(fields)))
            if len(found) > limit:
                break
        more = len(found) > limit
        found = found[:limit]
        return JobPage(
            jobs=[document for _, document in found],
            next_cursor=f"{found[-1][0]}-{found[-1][1].id}" if more else None,
        )

    async def result(self, job_id: str, owner: str | None) -> list[bytes]:
        """See `JobStore.result`."""
        fields = await self._fields(job_id, owner)
        why_not = _why_no_result(fields)
        if why_not is not None:
            raise why_not
        stored = await self._fetch(self.keys.result(job_id))
        if stored is None:
            raise await self._why_not_there(job_id, owner)
        return await beside_the_loop(decompressed_size(stored), partial(decompressed_pieces, stored))

    async def figures(self) -> StoreFigures:
        """See `JobStore.figures`."""
        counted: Counter[str] = Counter()
        async for _, fields in self._newest_first(self.keys.permanent[0], None, only="status"):
            counted.update(fields.values())
        (stored_bytes,) = await self._read(("GET", self.keys.permanent[8]))
        return StoreFigures({status: counted[status] for status in JOB_STATUSES}, int(stored_bytes or 0))

    async def _fields(self, job_id: str, owner: str | None) -> Fields:
        (answer,) = await self._read(("HGETALL", self.keys.record(job_id)))
        fields = fields_of(answer)
        if not fields:
            raise await self._why_not_there(job_id, owner)
        if owner is not None and fields["owner"] != owner:
            raise _not_found()
        return fields

    async def _document(self, fields: Fields) -> JobDocument:
        is_waiting = fields["status"] == "queued" and self.has_jobs_worker is not None
        return document_of(fields, waits_for_worker=is_waiting and not await self._has_worker())

    async def _has_worker(self) -> bool:
        return self.has_jobs_worker is None or await self.has_jobs_worker()

    async def _why_not_there(self, job_id: str, owner: str | None) -> ReMeError:
        (buried,) = await self._read(("GET", self.keys.tombstone(job_id)))
        if buried is not None and owner in {None, buried.decode("utf-8", "surrogateescape")}:
            return JobExpiredError("The job was there; it and its result have been removed. Submit the request again.")
        return _not_found()

    async def _newest_first(
        self, key: str, before: tuple[int, str] | None, *, only: str | None = None
    ) -> AsyncIterator[tuple[int, Mapping[str, str]]]:
        """Yield time of creation and record (or one field of it) of the jobs on a list; empty: it expired."""
        latest = "+inf" if before is None else str(before[0])
        offset = 0
        while True:
            limits = ("WITHSCORES", "LIMIT", offset, _AT_ONCE)
            (answer,) = await self._read(("ZREVRANGEBYSCORE", key, latest, "-inf", *limits))
            members = [(int(float(created)), member.decode()) for member, created in _pairs(answer)]
            wanted = [member for member in members if before is None or member < before]
            command = ("HGETALL",) if only is None else ("HMGET",)
            rest = () if only is None else (only,)
            records = await self._read(*((*command, self.keys.record(job_id), *rest) for _, job_id in wanted))
            for (created, _), record in zip(wanted, records, strict=True):
                if only is None:
                    yield created, fields_of(record)
                else:
                    yield created, {only: record[0].decode()} if record[0] is not None else {}
            if len(members) < _AT_ONCE:
                return
            offset += _AT_ONCE

    async def _due(self) -> Due:
        """Find the jobs whose time has come, at most so many of each kind that nobody else waits for it."""
        answer = await self._run(scripts.DUE, "", _AT_ONCE)
        return Due(*([job_id.decode() for job_id in job_ids] for job_ids in answer))

    async def _tidy(self, expired: Iterable[str]) -> int:
        """Take jobs that expired off the lists, and return how many there were."""
        return sum([await self._run(scripts.TIDY, job_id) for job_id in expired])


def outcome_of(stored: bytes) -> BatchOutcome:
    """Read a stored outcome."""
    return BatchOutcome.from_json(orjson.loads(stored[NONCE_CHARACTERS:]))


def _pairs(answer: list[object]) -> list[tuple[bytes, bytes]]:
    """Read members with scores, which newer versions of the protocol send as pairs."""
    if answer and isinstance(answer[0], list | tuple):
        return [(pair[0], pair[1]) for pair in answer]  # type: ignore[index]
    return list(zip(answer[::2], answer[1::2], strict=True))  # type: ignore[arg-type]


def _not_found() -> JobNotFoundError:
    return JobNotFoundError("There is no such job.")


def _why_no_result(fields: Fields) -> ReMeError | None:
    status = status_of(fields)
    if status == "succeeded":
        return None
    if status == "cancelled":
        return JobCancelledError("The job was cancelled, so it has no result.")
    error = error_of(fields)
    if error is not None:
        return ReportedError(
            {"code": error.code, "error": error.error, "message": error.message, "retryable": error.retryable}
        )
    return JobNotFinishedError(f"The job is {status}; it has no result yet. Ask again later.")


def _position_of(cursor: str) -> tuple[int, str]:
    match = _CURSOR.fullmatch(cursor)
    if match is None:
        raise InvalidRequestError([{"path": "cursor", "message": "must be the next_cursor of an earlier page"}])
    return int(match[1]), match[2]
