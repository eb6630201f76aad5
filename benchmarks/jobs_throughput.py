"""How long jobs take beyond what the decision model takes: many batches, several jobs at once, one small job."""

import statistics
from collections.abc import Callable

from benchmarks.jobs_client import JobClient, JobError, run_together
from benchmarks.jobs_deployments import Running, distributed, embedded
from benchmarks.jobs_requests import batches_body
from benchmarks.jobs_rows import Row

_BATCHES = 200
_PAUSE_SECONDS = 0.05
_WINDOW = 16
_TOGETHER = 8
_IDEAL_SECONDS = _BATCHES * _PAUSE_SECONDS / _WINDOW
_SLOTS = _TOGETHER * _WINDOW

_SMALL_JOBS = 20
_SMALL_WARM_UPS = 3
_SMALL_LIMIT_SECONDS = 0.020


def measure_throughput(rounds: int, report: Callable[[str], None]) -> list[Row]:
    """Measure embedded and distributed, each in processes of its own."""
    with embedded(_PAUSE_SECONDS) as running:
        rows = [_many_batches("embedded", running, 1, 1.2, rounds)]
        rows += _small_jobs("embedded", running)
    report("embedded: done")
    with distributed(_PAUSE_SECONDS, concurrency=_SLOTS) as running:
        rows += [_many_batches("distributed", running, 1, 1.35, rounds)]
        rows += [_many_batches("distributed", running, _TOGETHER, 2.0, rounds)]
        rows += _small_jobs("distributed", running)
    report("distributed: done")
    return rows


def _many_batches(kind: str, running: Running, jobs: int, times_ideal: float, rounds: int) -> Row:
    bodies = [batches_body(_BATCHES, _WINDOW, seed=seed) for seed in range(jobs)]
    run_together(running.port, bodies)
    before = running.processor_seconds()
    took = []
    for _ in range(rounds):
        wall, seen = run_together(running.port, bodies)
        if any(job.requests != _BATCHES for job in seen):
            raise JobError(f"{[job.requests for job in seen]} decision requests instead of {_BATCHES} each")
        took.append(wall)
    used = {name: (now - before[name]) / rounds for name, now in running.processor_seconds().items()}
    median = statistics.median(took)
    how_many = "one job" if jobs == 1 else f"{jobs} jobs at once"
    return Row(
        f"{_BATCHES} batches of {_PAUSE_SECONDS * 1000:g} ms, window {_WINDOW}: {kind}, {how_many}",
        median,
        "s",
        times_ideal * _IDEAL_SECONDS,
        f"{median / _IDEAL_SECONDS:.2f} times the ideal, at most {times_ideal:g}; best of {rounds}: {min(took):.2f} s",
        {"seconds": took, "ideal_seconds": _IDEAL_SECONDS, "processor_seconds_per_round": used},
    )


def _small_jobs(kind: str, running: Running) -> list[Row]:
    bodies = [batches_body(1, 4, seed=1000 + number) for number in range(_SMALL_WARM_UPS + _SMALL_JOBS)]
    client = JobClient(running.port)
    try:
        seen = [client.run(body) for body in bodies][_SMALL_WARM_UPS:]
    finally:
        client.close()
    own = [job.seconds - job.model_seconds for job in seen]
    what = f"one small job, submit to result seen, without the model's own time: {kind}"
    note = f"of {_SMALL_JOBS}"
    return [
        Row(f"{what}, median", statistics.median(own), "s", _SMALL_LIMIT_SECONDS, note, {"seconds": own}),
        Row(f"{what}, worst", max(own), "s", None, note),
    ]
