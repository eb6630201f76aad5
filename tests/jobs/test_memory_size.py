"""What a job takes in memory: the estimate against what the interpreter says."""

import gc
import json
import tracemalloc
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from job_store_base import FAILURE, RESULT, batch, outcome

from reme_compact import CompactionRequest
from reme_compact.contract.strict_json import parse_json
from reme_compact.jobs.clock import utc_now
from reme_compact.jobs.identity import new_job_id
from reme_compact.jobs.memory_size import memory_of
from reme_compact.jobs.memory_store import MemoryStore
from reme_compact.jobs.record import NewJob
from reme_compact.jobs.store import StoreLimits

MANY = 20_000


def body_of(extra: Any, text: str = "x" * 300, results: int = 1) -> bytes:
    """Return a request with odd things in it, or with ordinary results."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": [{"type": "text", "text": "hello"}], "extra": extra}]
    for number in range(results):
        call = {"type": "tool_call", "id": f"c{number}", "name": "search", "input": '{"path": "a"}'}
        result = {"type": "tool_result", "id": f"c{number}", "name": "search", "output": f"{text}{number}"}
        messages.append({"id": f"m{number}", "role": "assistant", "content": [call, result]})
    return json.dumps({"messages": messages}, ensure_ascii=False, separators=(",", ":")).encode()


@pytest.fixture
def traced() -> Iterator[Callable[[], int]]:
    """Return how much memory was taken since the test began, and is still held."""
    gc.collect()
    tracemalloc.start()

    def held() -> int:
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    yield held
    tracemalloc.stop()


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(lambda: body_of([{}] * MANY), id="empty objects"),
        pytest.param(lambda: body_of([{"a": 1}] * MANY), id="small objects"),
        pytest.param(lambda: body_of([{f"key{n}": 0} for n in range(MANY)]), id="different keys"),
        pytest.param(lambda: body_of({f"key{n}": 0 for n in range(MANY)}), id="one wide object"),
        pytest.param(lambda: body_of([[]] * MANY), id="empty arrays"),
        pytest.param(lambda: body_of([[0]] * MANY), id="small arrays"),
        pytest.param(lambda: body_of(list(range(MANY))), id="integers"),
        pytest.param(lambda: body_of([0.5] * MANY), id="fractions"),
        pytest.param(lambda: body_of([10**40] * MANY), id="long integers"),
        pytest.param(lambda: body_of(["ab"] * MANY), id="short texts"),
        pytest.param(lambda: body_of(["a", "", True, None] * MANY), id="shared values"),
        pytest.param(lambda: body_of("x" * 500_000 + "\U0001f600"), id="one rare character"),
        pytest.param(lambda: body_of("ж" * 500_000), id="another alphabet"),
        pytest.param(lambda: body_of(None, results=2000), id="many results"),
        pytest.param(lambda: body_of(None, "y" * 50_000, 50), id="large results"),
    ],
)
def test_the_estimate_is_close_to_the_truth(body: Callable[[], bytes], traced: Callable[[], int]) -> None:
    sent = body()
    before = traced()
    request = CompactionRequest.parse(parse_json(sent))
    truth = traced() - before
    assert 0.8 * truth <= memory_of(request) <= 1.5 * truth


@pytest.mark.anyio
@pytest.mark.parametrize("end", ["queued", "cancelled", "failed", "succeeded", "running"])
async def test_many_small_jobs_take_what_is_counted_for_them(end: str, traced: Callable[[], int]) -> None:
    store = MemoryStore(StoreLimits(1000, 10**9, 3600, 3600))
    body = body_of(None, results=0)
    before = traced()
    for number in range(200):
        request = CompactionRequest.parse(parse_json(body))
        job_id = new_job_id(utc_now() + timedelta(milliseconds=number))
        await store.create(NewJob(job_id, "compact_context", "anna", request, body, 3600))
        if end == "cancelled":
            await store.cancel(job_id, None)
        if end in {"failed", "succeeded", "running"}:
            await _run(store, job_id, end)
    del request
    truth = traced() - before
    assert 0.8 * truth <= (await store.figures()).stored_bytes <= 3 * truth


async def _run(store: MemoryStore, job_id: str, end: str) -> None:
    lease = await store.start(job_id, "a worker")
    assert lease is not None
    await store.planned(lease, candidates=40, asked=40, batches=5)
    for number in range(5):
        units = [f"t{number}-{unit}" for unit in range(8)]
        await store.scored(job_id, batch(number, 8), outcome(number / 10, *units))
    if end == "failed":
        await store.fail(lease, FAILURE)
    elif end == "succeeded":
        await store.succeed(lease, [bytes(piece) for piece in RESULT])
