"""How soon a job is finished after a process of its deployment was killed in the middle of it."""

import statistics
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import redis

from benchmarks.jobs_client import JobClient, JobError
from benchmarks.jobs_deployments import Running, distributed
from benchmarks.jobs_requests import batches_body
from benchmarks.jobs_rows import Row

_CALLS = 100
_PAUSE_SECONDS = 0.2
_WINDOW = 16
_KILL_AFTER = 40
_POLL_SECONDS = 0.01
_LONGEST_SECONDS = 60


def measure_recovery(rounds: int, report: Callable[[str], None]) -> list[Row]:
    """Kill a scores worker, the jobs worker that runs the job, and the server, each in deployments of its own."""
    rows = [
        _after("a scores worker of two", _kill_a_scores_worker, rounds, scores=2),
        _after("the jobs worker that runs it, of two", _kill_its_jobs_worker, rounds, jobs=2),
        _after("the server, which is started again", _restart_the_server, rounds, appendonly=True, supervised=True),
    ]
    report("recovery: done")
    return rows


def _after(killed: str, kill: Callable[[Running, str], None], rounds: int, **deployment: Any) -> Row:
    took, left = [], []
    for number in range(rounds):
        with distributed(_PAUSE_SECONDS, concurrency=_WINDOW, **deployment) as running:
            seconds, calls_left = _finish_after(kill, running, seed=number)
            took.append(seconds)
            left.append(-(-calls_left // _WINDOW) * _PAUSE_SECONDS)
    undisturbed = statistics.median(left)
    note = f"undisturbed about {undisturbed:.1f} s; worst of {rounds}: {max(took):.1f} s"
    what = f"{_CALLS} calls of {_PAUSE_SECONDS * 1000:g} ms: kill -9 of {killed}, until the job is finished"
    return Row(what, statistics.median(took), "s", None, note, {"seconds": took, "undisturbed_seconds": left})


def _finish_after(kill: Callable[[Running, str], None], running: Running, seed: int) -> tuple[float, int]:
    """Kill in the middle; return the seconds until the job was seen finished, and how many calls were left."""
    client = JobClient(running.port)
    # A first job, so that all connections are there.
    client.run(batches_body(1, 4, seed=1000 + seed))
    job = client.submit(batches_body(_CALLS, _WINDOW, seed=seed))
    limit = time.perf_counter() + _LONGEST_SECONDS
    while job["progress"]["batches_scored"] < _KILL_AFTER:
        time.sleep(_POLL_SECONDS)
        job = client.job(job["id"])
    calls_left = _CALLS - job["progress"]["batches_scored"]
    killed_at = time.perf_counter()
    kill(running, job["id"])
    while job["status"] == "running" and time.perf_counter() < limit:
        time.sleep(_POLL_SECONDS)
        with suppress(JobError):  # 503 while the server is away
            job = client.job(job["id"])
    finished_at = time.perf_counter()
    seen = client.result(job, killed_at)
    client.close()
    if seen.requests != _CALLS:
        raise JobError(f"{seen.requests} decision requests in the answer instead of {_CALLS}")
    return finished_at - killed_at, calls_left


def _kill_a_scores_worker(running: Running, job_id: str) -> None:
    del job_id
    running.kill("scores worker 1")


def _kill_its_jobs_worker(running: Running, job_id: str) -> None:
    with redis.Redis.from_url(running.arguments.overrides["execution.redis.url"]) as client:
        holder = str(client.hget(f"reme:job:{{{job_id}}}:record", "holder"), "utf-8")
    process_id = int(holder.split(":")[1])
    running.kill(next(name for name, found in running.process_ids().items() if found == process_id))


def _restart_the_server(running: Running, job_id: str) -> None:
    del job_id
    if running.server is not None:
        running.server.kill()
        running.server.start()
