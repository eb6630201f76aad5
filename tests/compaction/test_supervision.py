"""Work that nobody waits for any more ends by itself, wherever it is."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from histories import history, request_for

from reme_compact import AdditiveTokenCounter, CompactionRequest
from reme_compact.compaction.counting import count_draft
from reme_compact.compaction.plan import plan_compaction
from reme_compact.compaction.proposal import TokenCounts, build_answer
from reme_compact.compaction.ranking import Application, apply_within_budget
from reme_compact.compaction.supervision import Supervision, WorkStoppedError, supervised
from reme_compact.decision.verdicts import Verdicts
from reme_compact.history.draft import Draft

pytestmark = pytest.mark.anyio


async def test_cancelling_the_waiter_ends_the_work() -> None:
    begun, ended = threading.Event(), threading.Event()

    def work(check: Callable[[], None]) -> None:
        try:
            while True:
                begun.set()
                check()
        except WorkStoppedError:
            ended.set()
            raise

    task = asyncio.create_task(supervised(work))
    await asyncio.to_thread(begun.wait)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(ended.wait, 60)


def stops_after(calls: int) -> Callable[[], None]:
    left = iter(range(calls))

    def check() -> None:
        if next(left, None) is None:
            raise WorkStoppedError

    return check


def request() -> CompactionRequest:
    return CompactionRequest.parse(request_for(history(20)))


def test_planning_can_be_stopped_in_each_of_its_loops() -> None:
    for calls in (0, 10, 30, 50, 70):
        with pytest.raises(WorkStoppedError):
            plan_compaction(request(), ask=True, supervision=Supervision(stops_after(calls)))
    assert plan_compaction(request(), ask=True, supervision=Supervision(stops_after(1000))).asked == 20


@pytest.mark.parametrize("by_block", [False, True])
def test_counting_stops_before_the_next_call_of_the_hosts_counter(by_block: bool) -> None:
    counted: list[Any] = []

    def count(part: Any) -> int:
        counted.append(part)
        return 1

    counter = AdditiveTokenCounter(count, count_block=count if by_block else None)
    messages = history(20)
    one_message = [{"role": "assistant", "content": [block for item in messages for block in item["content"]]}]
    for source in (messages, one_message) if by_block else (messages,):
        counted.clear()
        with pytest.raises(WorkStoppedError):
            count_draft(counter, Draft(source), stops_after(6))
        assert 0 < len(counted) < 20


def test_replacing_stops_before_the_next_count() -> None:
    plan = plan_compaction(request(), ask=True)
    draft = Draft(plan.request.messages)
    with pytest.raises(WorkStoppedError):
        apply_within_budget(list(plan.replacements.values()), draft, None, None, stops_after(3))
    assert sum(old is not new for old, new in zip(plan.request.messages, draft.messages, strict=True)) == 3


def test_measuring_the_proposal_can_be_stopped() -> None:
    plan = plan_compaction(request(), ask=True)
    with pytest.raises(WorkStoppedError):
        build_answer(plan, Verdicts(), Application(), Draft(plan.request.messages), TokenCounts(), stops_after(5))
