"""The part of the store that runs jobs: leases, progress, outcomes and ends."""

import secrets
from collections.abc import Sequence
from functools import partial
from time import monotonic

import orjson

from reme_compact.contract.errors import ErrorFields, StartTimeoutError, StorageFullError
from reme_compact.contract.job import JobStatus
from reme_compact.decision.batching import Batch
from reme_compact.decision.outcome import BatchOutcome
from reme_compact.jobs.record import Lease
from reme_workers import scripts
from reme_workers.compression import beside_the_loop, compress, decompressed_size, size_of
from reme_workers.reading import NONCE_CHARACTERS, outcome_of
from reme_workers.request_bytes import read_request
from reme_workers.room import MakingRoom

START_TIMEOUT = orjson.dumps(
    StartTimeoutError(
        "The job was not started in time (start_within_seconds); nothing was asked. Submit it again later."
    ).fields()
)


_NO_ROOM = -1
_OUTCOMES_AT_ONCE = 200  # A script takes only so many arguments.


class Running(MakingRoom):
    """Runs jobs; part of `RedisStore`, whose protocol says what each method does."""

    async def start(self, job_id: str, holder: str) -> Lease | None:
        """See `JobStore.start`."""
        token = secrets.token_hex(16)
        answer = await self._run(
            scripts.START, job_id, token, holder, self._lease_milliseconds, self._silence_milliseconds, START_TIMEOUT
        )
        if answer is None:
            return None
        attempt, milliseconds_before, owner = answer
        read_at = monotonic()
        body = await self._fetch(self.keys.body(job_id))
        if body is None:  # Cancelled in between.
            return None
        (outcomes,) = await self._read(("HGETALL", self.keys.outcomes(job_id)))
        request = await beside_the_loop(decompressed_size(body), partial(read_request, body))
        return Lease(
            job_id=job_id,
            token=token,
            attempt=attempt,
            owner=owner.decode(),
            request=request,
            running_seconds=max(0.0, milliseconds_before / 1000) + monotonic() - read_at,
            known={key.decode(): outcome_of(stored) for key, stored in _items(outcomes)},
        )

    async def renew(self, lease: Lease) -> bool:
        """See `JobStore.renew`."""
        return bool(await self._run(scripts.RENEW, lease.job_id, lease.token, self._lease_milliseconds))

    async def release(self, lease: Lease) -> None:
        """See `JobStore.release`."""
        await self._run(scripts.RELEASE, lease.job_id, lease.token, self._lease_milliseconds)

    async def planned(self, lease: Lease, *, candidates: int, asked: int, batches: int) -> None:
        """See `JobStore.planned`."""
        await self._run(scripts.PLANNED, lease.job_id, lease.token, candidates, asked, batches)

    async def scored(self, job_id: str, batch: Batch, outcome: BatchOutcome) -> bool:
        """See `JobStore.scored`."""
        return (await self.scored_together([(job_id, batch, outcome)]))[0]

    async def scored_together(self, scored: Sequence[tuple[str, Batch, BatchOutcome]]) -> list[bool]:
        """Record outcomes of any jobs in one round trip; what `scored` returns for each."""
        of_jobs: dict[str, list[int]] = {}
        for index, (job_id, _, _) in enumerate(scored):
            of_jobs.setdefault(job_id, []).append(index)
        pieces = [(job_id, piece) for job_id, indexes in of_jobs.items() for piece in _pieces(indexes)]
        runs = [(job_id, [part for at in piece for part in _arguments_of(*scored[at][1:])]) for job_id, piece in pieces]
        was_first = [False] * len(scored)
        for (_, piece), answers in zip(pieces, await self._run_together(scripts.SCORED, runs), strict=True):
            for index, answer in zip(piece, answers, strict=True):
                was_first[index] = bool(answer)
        return was_first

    async def deciding(self, lease: Lease) -> None:
        """See `JobStore.deciding`."""
        await self._run(scripts.DECIDING, lease.job_id, lease.token)

    async def succeed(self, lease: Lease, result: list[bytes]) -> bool:
        """See `JobStore.succeed`; the response is compressed and stored under a key of its own.

        If there is no room for it, the job fails with `storage_full`.
        """
        stored = await beside_the_loop(size_of(result), partial(compress, result))
        ended = await self._finish(lease, "succeeded", b"", stored)
        if ended == _NO_ROOM and await self._make_room(lease.job_id, len(stored)):
            ended = await self._finish(lease, "succeeded", b"", stored)
        if ended == _NO_ROOM:
            error = StorageFullError("The result does not fit into what is left of execution.max_stored_bytes.")
            return await self.fail(lease, error.fields())
        return bool(ended)

    async def fail(self, lease: Lease, error: ErrorFields) -> bool:
        """See `JobStore.fail`."""
        return bool(await self._finish(lease, "failed", orjson.dumps(error), b""))

    async def _finish(self, lease: Lease, status: JobStatus, error: bytes, result: bytes) -> int:
        nonce = secrets.token_hex(NONCE_CHARACTERS // 2)
        limit = self._limits.max_stored_bytes
        return int(await self._run(scripts.FINISH, lease.job_id, lease.token, nonce, status, error, result, limit))


def _arguments_of(batch: Batch, outcome: BatchOutcome) -> list[str | bytes | float]:
    nonce = secrets.token_hex(NONCE_CHARACTERS // 2)
    written, error = orjson.dumps(outcome.as_json()), orjson.dumps(outcome.error)
    return [batch.key(), nonce, written, len(batch.unit_ids), error]


def _pieces(indexes: list[int]) -> list[list[int]]:
    return [indexes[start : start + _OUTCOMES_AT_ONCE] for start in range(0, len(indexes), _OUTCOMES_AT_ONCE)]


def _items(answer: object) -> list[tuple[bytes, bytes]]:
    if isinstance(answer, dict):
        return list(answer.items())
    flat: list[bytes] = answer  # type: ignore[assignment]
    return list(zip(flat[::2], flat[1::2], strict=True))
