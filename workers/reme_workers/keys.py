"""Every key that the store writes: what it is for, and how long it lives.

One server holds them all: scripts touch the keys of a job together with the lists of all jobs, which a Redis Cluster
would refuse. The keys of one job share a hash tag all the same, so that they stand together in every listing.
"""

from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256

PERMANENT_NAMES = (
    "jobs",
    "active",
    "to_start",
    "unclaimed",
    "leases",
    "deadlines",
    "expiries",
    "ledger",
    "stored_bytes",
)
"""Names of the keys without an expiry, after the prefix: the lists of all jobs. Their entries go with the jobs, by
the sweep; an empty one does not exist."""


@dataclass(frozen=True)
class Keys:
    """The keys of one deployment.

    Of a job, all gone when the job expires, unless noted:

    - `record` (hash): status, times, lease, progress, error.
    - `events` (stream): what happened; the id of an entry is the id of the event.
    - `body` (zstd): the request; gone when the job is finished.
    - `result` (zstd): the response of a job that succeeded.
    - `outcomes` (hash): outcome by key of the batch; gone when the job is finished.
    - `tombstone` (string): the owner of a finished job; outlives it as long again
      as its result was kept, so that "expired" differs from "never there".

    Of an owner, gone with its last job:

    - `jobs_of` (sorted set): its jobs by time of creation.
    - `active_of` (set): those that are not finished.
    - `idempotency` (hash): the job that a caller's key means; gone with the job.

    Of the deployment, permanent (see `PERMANENT_NAMES`); all sorted sets hold ids of jobs by time in ms:

    - `jobs` by creation; `active` (set), not finished.
    - `to_start` by when it has to be started; `unclaimed` by when to ask what became of its message.
    - `leases` by when the job has to be run again; `deadlines` by the end of its total timeout.
    - `expiries` by when it is gone; `ledger` (hash), bytes and owner, to tidy up what is gone.
    - `stored_bytes` (integer): sum of the ledger.

    Args:
        prefix: starts every key and channel.
    """

    prefix: str

    def record(self, job_id: str) -> str:
        """Return the key of a job's record."""
        return self._of_job(job_id, "record")

    def events(self, job_id: str) -> str:
        """Return the key of a job's stream."""
        return self._of_job(job_id, "events")

    def body(self, job_id: str) -> str:
        """Return the key of a job's request."""
        return self._of_job(job_id, "body")

    def result(self, job_id: str) -> str:
        """Return the key of a job's response."""
        return self._of_job(job_id, "result")

    def outcomes(self, job_id: str) -> str:
        """Return the key of what a job's batches brought."""
        return self._of_job(job_id, "outcomes")

    def tombstone(self, job_id: str) -> str:
        """Return the key that remembers an expired job."""
        return self._of_job(job_id, "tombstone")

    def jobs_of(self, owner: str) -> str:
        """Return the key of an owner's jobs."""
        return f"{self.prefix}jobs_of:{owner}"

    def active_of(self, owner: str) -> str:
        """Return the key of an owner's unfinished jobs."""
        return f"{self.prefix}active_of:{owner}"

    def idempotency(self, owner: str, idempotency_key: str) -> str:
        """Return the key that holds what a caller's idempotency key means."""
        digest = sha256(f"{owner}\0{idempotency_key}".encode("utf-8", "surrogatepass"))
        return f"{self.prefix}idempotency:{digest.hexdigest()}"

    def channel(self, job_id: str) -> str:
        """Return the channel on which a job rings when something happened to it."""
        return f"{self.prefix}ring:{job_id}"

    @property
    def channels(self) -> str:
        """The pattern of all these channels."""
        escaped = "".join(f"\\{character}" if character in r"*?[]\^" else character for character in self.prefix)
        return f"{escaped}ring:*"

    def job_of(self, channel: str) -> str:
        """Return the job that rings on a channel."""
        return channel.removeprefix(f"{self.prefix}ring:")

    @cached_property
    def permanent(self) -> list[str]:
        """The keys of the deployment, in the order of `PERMANENT_NAMES`."""
        return [self.prefix + name for name in PERMANENT_NAMES]

    def for_script(self, job_id: str) -> list[str]:
        """Return the keys that every script gets, in the order in which `prelude.lua` names them."""
        return [
            self.record(job_id),
            self.events(job_id),
            self.body(job_id),
            self.result(job_id),
            self.outcomes(job_id),
            self.tombstone(job_id),
            *self.permanent,
        ]

    def _of_job(self, job_id: str, name: str) -> str:
        return f"{self.prefix}job:{{{job_id}}}:{name}"
