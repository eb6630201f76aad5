"""Counts what happens to jobs, for Prometheus; in the process that runs them."""

import re
from collections.abc import Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram

from reme_compact.decision.outcome import BatchOutcome
from reme_compact.jobs.observation import RunEnd
from reme_compact.jobs.store import Sweep

REQUEST_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
"""Seconds."""

_JOB_BUCKETS = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800)
_MOST_CODES = 30
_CODE = re.compile(r"[a-z][a-z0-9_]{0,39}")
_OTHER = "other"


class JobMetrics:
    """A `JobObserver` that counts.

    Args:
        registry: gets the metrics; one of its own for every application or worker.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._codes: set[str] = set()
        self._started = Counter("reme_job_runs_started", "Runs of jobs that were started.", registry=registry)
        self._resumed = Counter(
            "reme_job_runs_resumed", "Runs that went on with what an earlier one had begun.", registry=registry
        )
        self._left = Counter(
            "reme_job_runs_left",
            "Runs that ended before their job did. lost: another process has it; released: this process stopped.",
            ["end"],
            registry=registry,
        )
        self._finished = Counter(
            "reme_jobs_finished", "Jobs that ended, by their status.", ["status"], registry=registry
        )
        self._job_seconds = Histogram(
            "reme_job_duration_seconds",
            "From the first start of a job to its end.",
            ["status"],
            buckets=_JOB_BUCKETS,
            registry=registry,
        )
        self._batches = Histogram(
            "reme_batch_duration_seconds",
            "How long single decision requests took.",
            ["outcome"],
            buckets=REQUEST_BUCKETS,
            registry=registry,
        )
        self._errors = Counter(
            "reme_model_errors", "Decision requests that failed, by the code of the error.", ["code"], registry=registry
        )
        self._decisions = Counter(
            "reme_decisions", "Tool pairs by what was decided and why.", ["action", "reason"], registry=registry
        )
        self._characters = Counter(
            "reme_characters_saved",
            "Characters by which proposals are shorter than their histories.",
            registry=registry,
        )
        self._tokens = Counter(
            "reme_tokens_saved",
            "Tokens by which proposals are smaller than their histories, where a token counter was used.",
            registry=registry,
        )
        self._sweeper = Counter(
            "reme_sweeper_actions", "What was done for jobs that nobody cared for.", ["action"], registry=registry
        )

    def job_started(self, job_id: str, *, attempt: int) -> None:
        """Count a run."""
        del job_id
        self._started.inc()
        if attempt > 1:
            self._resumed.inc()

    def planned(self, job_id: str, *, candidates: int, asked: int, batches: int) -> None:
        """Say nothing; the proposal will tell."""

    def batch_scored(self, job_id: str, outcome: BatchOutcome) -> None:
        """Measure a decision request."""
        del job_id
        if outcome.error is not None:
            self._errors.labels(self._known_code(outcome.error["code"])).inc()
        if outcome.seconds is not None:
            self._batches.labels("answered" if outcome.error is None else "failed").observe(outcome.seconds)

    def deciding(self, job_id: str) -> None:
        """Say nothing; the proposal will tell."""

    def job_finished(self, job_id: str, end: RunEnd, *, seconds: float, proposal: Mapping[str, Any] | None) -> None:
        """Count a run's end, and what it brought if it was the job's end too."""
        del job_id
        if end in {"lost", "released"}:
            self._left.labels(end).inc()
            return
        self._finished.labels(end).inc()
        self._job_seconds.labels(end).observe(seconds)
        if end == "succeeded" and proposal is not None:
            self._count_proposal(proposal)

    def swept(self, sweep: Sweep) -> None:
        """Count what the sweeper found."""
        found = {
            "timed_out": len(sweep.timed_out),
            "lapsed": len(sweep.lapsed),
            "unclaimed": len(sweep.unclaimed),
            "removed": sweep.removed,
        }
        for action, number in found.items():
            self._sweeper.labels(action).inc(number)
        self._finished.labels("timed_out").inc(len(sweep.timed_out))

    def _count_proposal(self, proposal: Mapping[str, Any]) -> None:
        for decision in proposal["decisions"]:
            self._decisions.labels(decision["action"], decision["reason"]).inc()
        stats = proposal["stats"]
        self._characters.inc(max(0, stats.get("chars_before", 0) - stats.get("chars_after", 0)))
        before, after = stats.get("tokens_before"), stats.get("tokens_after")
        if before is not None and after is not None:
            self._tokens.inc(max(0, before - after))

    def _known_code(self, code: str) -> str:
        """Limit the label's values: a decision model that is somebody else's code can make codes up."""
        if code not in self._codes and (len(self._codes) >= _MOST_CODES or not _CODE.fullmatch(code)):
            return _OTHER
        self._codes.add(code)
        return code
