"""The distributed deployment: jobs and decision requests in real worker processes, which lose nothing when killed."""

import asyncio
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import pytest
from distributed_fixtures import Cluster, cluster, proposal, undisturbed
from histories import history, request_for
from reme_workers.worker_arguments import Role

pytestmark = pytest.mark.anyio

CALLS = 100
WINDOW = 8
HAND_OVER_SECONDS = 2.0


def request(calls: int = CALLS, *, goal: str = "Fix the retries", **options: Any) -> dict[str, Any]:
    """Return a request that needs so many decision requests."""
    options = {"max_state_tokens": 1500, "max_concurrency": WINDOW, "drop_threshold": 0.5, **options}
    return request_for(history(calls), goal=goal, options=options)


async def in_the_middle(cluster: Cluster, asked: dict[str, Any]) -> str:
    """Submit a request and return when about a third of its calls began."""
    job_id = await cluster.submit(asked)
    await cluster.model.until_begun(CALLS // 3)
    return job_id


async def timed(what: str, ending: Awaitable[Any]) -> Any:
    """Print how long something takes, for whoever reads the output."""
    began = time.monotonic()
    result = await ending
    print(f"{what}: {time.monotonic() - began:.2f} s")
    return result


def repeated(cluster: Cluster) -> int:
    """Return how many calls were made beyond one of each."""
    return sum(times - 1 for times in cluster.model.times_asked().values())


async def test_the_proposal_is_the_library_s_and_no_limit_is_passed(tmp_path: Path) -> None:
    async with cluster(tmp_path) as it:
        it.start_worker("jobs")
        it.start_worker("scores", concurrency=6)
        it.start_worker("scores", concurrency=6)
        await it.until_ready(scores=2)
        it.model.seconds = 0.02
        goals = ["Fix the retries", "Fix the cache", "Fix the clock"]
        jobs = [await it.submit(request(30, goal=goal)) for goal in goals]
        answers = [await it.answer(job) for job in jobs]
        for goal, answer in zip(goals, answers, strict=True):
            assert proposal(answer) == proposal(await undisturbed(request(30, goal=goal)))
            assert it.model.most_at_once(goal) <= WINDOW
        assert it.model.most_at_once() <= 12
        assert repeated(it) == 0
        document = await it.finished(jobs[0])
        assert document.progress.batches_scored == document.progress.batches == 30


async def test_a_killed_scores_worker_loses_nothing(tmp_path: Path) -> None:
    async with cluster(tmp_path) as it:
        it.start_worker("jobs")
        lost = it.start_worker("scores", concurrency=4)
        it.start_worker("scores", concurrency=4)
        await it.until_ready(scores=2)
        it.model.seconds = 0.05
        job_id = await in_the_middle(it, request())
        lost.kill()
        answer = await timed("a scores worker was killed, the job ended after", it.answer(job_id))
        assert proposal(answer) == proposal(await undisturbed(request()))
        assert repeated(it) <= WINDOW


async def test_a_killed_coordinator_is_replaced_and_nothing_is_asked_twice(tmp_path: Path) -> None:
    async with cluster(tmp_path) as it:
        lost = it.start_worker("jobs")
        it.start_worker("scores")
        await it.until_ready()
        it.model.seconds = 0.05
        job_id = await in_the_middle(it, request())
        lost.kill()
        it.start_worker("jobs")
        answer = await timed("the coordinator was killed, the job ended after", it.answer(job_id))
        assert proposal(answer) == proposal(await undisturbed(request()))
        assert repeated(it) == 0


async def test_a_killed_server_that_kept_a_file_loses_nothing(tmp_path: Path) -> None:
    async with cluster(tmp_path, appendonly=True) as it:
        it.start_worker("jobs", supervised=True)
        it.start_worker("scores", supervised=True)
        await it.until_ready()
        it.model.seconds = 0.05
        job_id = await in_the_middle(it, request())
        under_way = sum(call.ended is None for call in it.model.calls)
        it.server.kill()
        it.server.start()
        answer = await timed("the server was killed, the job ended after", it.answer(job_id))
        assert proposal(answer) == proposal(await undisturbed(request()))
        assert repeated(it) <= max(under_way, WINDOW)


@pytest.mark.parametrize("role", ["jobs", "scores"])
async def test_a_worker_that_is_asked_to_end_hands_over(tmp_path: Path, role: Role) -> None:
    async with cluster(tmp_path) as it:
        leaving = it.start_worker(role, supervised=True)
        it.start_worker("scores" if role == "jobs" else "jobs")
        await it.until_ready()
        it.model.gate.clear()
        job_id = await it.submit(request(20))
        await it.model.until_begun(WINDOW)
        it.start_worker(role)
        await it.until_ready(jobs=2 if role == "jobs" else 1, scores=2 if role == "scores" else 1)
        asked_at = time.time()
        leaving.ask_to_end()
        if role == "scores":
            # Its requests are cut off, and the other worker makes them.
            await it.model.until(lambda server: sum(call.began > asked_at for call in server.calls) >= WINDOW)
        else:
            await second_start(it, job_id)
        print(f"{role} handed over after {time.time() - asked_at:.2f} s")
        assert time.time() - asked_at < HAND_OVER_SECONDS
        it.model.gate.set()
        assert proposal(await it.answer(job_id)) == proposal(await undisturbed(request(20)))
        assert leaving.process.wait(10) == 0
        assert repeated(it) == (WINDOW if role == "scores" else 0)


async def second_start(cluster: Cluster, job_id: str) -> None:
    """Wait until another process has the job."""
    async for event in cluster.deployment.store.events(job_id, None, None):
        if event.type == "started" and event.data["attempt"] == 2:
            return


async def test_a_cancelled_job_asks_nothing_more(tmp_path: Path) -> None:
    async with cluster(tmp_path) as it:
        it.start_worker("jobs")
        it.start_worker("scores")
        await it.until_ready()
        it.model.seconds = 0.03
        job_id = await in_the_middle(it, request())
        document = await it.deployment.store.cancel(job_id, None)
        cancelled_at = time.time()
        assert document.status == "cancelled"
        await it.answer(await it.submit(request(1, goal="Another job")))  # runs when the places are free again
        late = [call for call in it.model.calls if call.began > cancelled_at + 0.1 and call.goal != "Another job"]
        assert not late
        assert len(it.model.calls) < CALLS


async def test_the_time_is_up_though_workers_are_slow(tmp_path: Path) -> None:
    async with cluster(tmp_path) as it:
        it.start_worker("jobs")
        it.start_worker("scores")
        await it.until_ready()
        await it.answer(await it.submit(request(1)))
        it.model.gate.clear()
        answer = await ended_in_time(it, await it.submit(request(20, total_timeout_seconds=1)), 1)
        assert {decision["reason"] for decision in answer["decisions"]} == {"timeout"}
        await it.model.until(lambda server: all(call.ended is not None for call in server.calls))
        assert len(it.model.calls) == 1 + WINDOW


async def test_the_time_is_up_though_the_coordinator_is_lost(tmp_path: Path) -> None:
    async with cluster(tmp_path) as it:
        for _ in range(2):
            it.start_worker("jobs")
        it.start_worker("scores")
        await it.until_ready(jobs=2)
        it.model.gate.clear()
        job_id = await it.submit(request(20, total_timeout_seconds=2))
        await it.model.until_begun(WINDOW)
        holder = await it.deployment.store.client.hget(f"reme:job:{{{job_id}}}:record", "holder")
        (lost,) = [worker for worker in it.workers if f":{worker.process.pid}:" in str(holder)]
        lost.kill()
        answer = await ended_in_time(it, job_id, 2)
        assert {decision["reason"] for decision in answer["decisions"]} == {"timeout"}


async def ended_in_time(cluster: Cluster, job_id: str, seconds: float) -> dict[str, Any]:
    """See that a job ends when its time is up, by the times in its record, and return its answer."""
    answer = await cluster.answer(job_id)
    document = await cluster.finished(job_id)
    assert document.started_at is not None
    assert document.finished_at is not None
    took = (document.finished_at - document.started_at).total_seconds()
    print(f"total_timeout_seconds passed by {took - seconds:.3f} s")
    assert took < seconds + 0.25
    return answer


async def test_without_a_worker_a_job_waits_for_one_and_then_times_out(tmp_path: Path) -> None:
    async with cluster(tmp_path) as it:
        job_id = await it.submit(request(3), start_within_seconds=1.0)
        assert (await it.deployment.store.get(job_id, None)).waiting_for == "worker"
        assert {part.part for part in await it.deployment.runner.missing()} == {"jobs_worker", "scores_worker"}
        assert await it.deployment.runner.waiting() == 1
        document = await it.finished(job_id)
        assert document.status == "timed_out"
        assert document.error is not None
        assert document.error.code == "start_timeout"
        assert document.started_at is None


async def test_a_lost_message_is_sent_again(tmp_path: Path) -> None:
    async with cluster(tmp_path) as it:
        job_id = await it.submit(request(5))
        await it.deployment.store.client.delete("reme:celery:jobs")
        it.start_worker("jobs")
        it.model.gate.clear()
        async with asyncio.timeout(20):
            # Nothing tells of a message in a queue.
            while not await it.deployment.store.client.llen("reme:celery:scores"):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        await it.deployment.store.client.delete("reme:celery:scores")
        it.model.gate.set()
        it.start_worker("scores")
        answer = await it.answer(job_id)
        assert proposal(answer) == proposal(await undisturbed(request(5)))
        assert repeated(it) == 0


async def test_a_local_model_in_processes_of_its_own(tmp_path: Path) -> None:
    async with cluster(tmp_path) as it:
        it.start_worker("jobs")
        pool = it.start_worker("scores", concurrency=2, pool="prefork")
        await it.until_ready(scores=2)
        it.model.seconds = 0.02
        answer = await it.answer(await it.submit(request(20)))
        assert proposal(answer) == proposal(await undisturbed(request(20)))
        assert it.model.most_at_once() <= 2
        assert len({call.process for call in it.model.calls}) == 2
        it.model.gate.clear()
        job_id = await it.submit(request(5, goal="Another job"))
        await it.model.until_begun(22)
        asked_at = time.time()
        it.start_worker("scores")
        pool.ask_to_end()
        it.model.gate.set()
        assert proposal(await it.answer(job_id)) == proposal(await undisturbed(request(5, goal="Another job")))
        print(f"a pool of processes handed over; the job ended after {time.time() - asked_at:.2f} s")
        assert pool.process.wait(10) == 0


async def test_a_service_goes_on_when_the_server_is_back(tmp_path: Path) -> None:
    async with cluster(tmp_path, appendonly=True) as it:
        before = await it.submit(request(1))
        it.server.kill()
        it.server.start()
        after = await it.submit(request(1))
        assert await it.deployment.runner.waiting() == 2
        it.start_worker("jobs")
        it.start_worker("scores")
        assert proposal(await it.answer(before)) == proposal(await it.answer(after))
