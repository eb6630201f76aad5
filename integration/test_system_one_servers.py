"""The real AgentScope Jev client, built from a preset, against two independent System One servers on loopback.

Whatever a server answers, one compaction is a valid proposal: results are kept with a reason, or previewed at a
valid probability.
"""

import contextlib
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from http.client import HTTPConnection
from typing import Any

import anyio
import pytest
from agentscope.classifier import BinaryQuestion, JevClassifierModel
from agentscope.credential import TypeSafeCredential
from jevcompat.mock import FAULTS, MockConfig, make_server
from typesafe_sdk import TypeSafeAPIError
from typesafe_sdk._core.compression import COMPRESSORS

from reme_compact.compaction.step import CompactContextStep
from reme_compact.contract.result import CompactionResult
from reme_compact.presets.assemble import assemble_job
from reme_compact.presets.load import load_preset

pytestmark = pytest.mark.anyio

KEY = "test-key"
THRESHOLD = 0.6
COMPONENT = "components.as_decision_model.compaction"

FAULT_CODES = {
    "wrong-route": "decision_model_not_found",
    "reject-jev-latest": "decision_model_not_found",
    "auth-rejects-header": "authentication_failed",
    "auth-x-api-key": "authentication_failed",
    "xssi-200": "invalid_response",
    "no-usage": "invalid_response",
    "float-usage": "invalid_response",
}
"""Faults that spoil a whole request, and what it is called."""

SPOILED_ANSWERS = {"first-question-only", "boolean-type", "noul-range"}
"""Faults that spoil single answers; the rest of the request counts."""

OTHER_ANSWERS = {"id-leaks", "batch-leaks", "order-leaks"}
"""Faults that make the model judge differently, but validly."""


def history(pairs: int = 8) -> list[dict[str, Any]]:
    """Return a history whose tool results are all long enough to get shorter."""
    messages: list[dict[str, Any]] = [_text("user", "Find out why the nightly export is slow")]
    for number in range(pairs):
        call = {"type": "tool_call", "id": f"c{number}", "name": "read_log", "state": "finished"}
        result = {"type": "tool_result", "id": f"c{number}", "name": "read_log", "state": "success"}
        lines = "\n".join(f"export {number} step {line} took {line * number} ms" for line in range(60))
        content = [{**call, "input": f'{{"file": "export-{number}.log"}}'}, {**result, "output": lines}]
        messages.append({"role": "assistant", "content": content})
    return [*messages, _text("user", "Look at the slowest step")]


def _text(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": [{"type": "text", "text": text}]}


async def compact(step: CompactContextStep, **options: Any) -> CompactionResult:
    """Compact the history once and check what holds for every proposal."""
    messages = history()
    response = await step(
        messages=messages,
        eligible_tool_names=["read_log"],
        source_refs={f"c{number}": f"archive/c{number}" for number in range(8)},
        options={"preserve_recent_messages": 1, "drop_threshold": THRESHOLD, **options},
    )
    assert messages == history()
    assert response.success
    result = CompactionResult.model_validate(response.answer)
    assert len(result.decisions) == 8
    for decision in result.decisions:
        if decision.action == "preview":
            assert decision.probability is not None
            assert 0 <= decision.probability <= THRESHOLD
    assert result.changed == any(decision.action == "preview" for decision in result.decisions)
    assert result.changed or result.messages == messages
    return result


def codes(result: CompactionResult) -> set[str]:
    """Return the codes of everything that failed."""
    errors: Any = result.stats["errors"]
    return {error["code"] for error in errors}


def reasons(result: CompactionResult) -> list[str]:
    """Return the reason of every decision."""
    return [decision.reason for decision in result.decisions]


@contextlib.contextmanager
def serving(config: MockConfig) -> Iterator[str]:
    """Serve a mock System One on a free port, and yield its address."""
    server = make_server(config)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextlib.asynccontextmanager
async def step_for(base_url: str, key: str = KEY, **settings: str) -> AsyncIterator[CompactContextStep]:
    """Assemble the packaged job for a server, and close it."""
    preset = load_preset(
        overrides={f"{COMPONENT}.{name}": value for name, value in {"retry_delay": "0", **settings}.items()},
        environment={
            "DECISION_MODEL_BACKEND": "agentscope",
            "DECISION_MODEL_API_KEY": key,
            "DECISION_MODEL_BASE_URL": base_url,
        },
    )
    step = assemble_job(preset, "compact_context")
    try:
        yield step
    finally:
        await step.aclose()


async def compact_with(config: MockConfig, key: str = KEY, **options: Any) -> CompactionResult:
    """Compact once against a mock server."""
    with serving(config) as base_url:
        async with step_for(base_url, key) as step:
            return await compact(step, **options)


async def test_a_flawless_server_decides_what_is_previewed() -> None:
    result = await compact_with(MockConfig(key=KEY))
    assert codes(result) == set()
    assert set(reasons(result)) == {"low_relevance", "needed_or_uncertain"}
    assert result.changed
    usage: Any = result.stats["usage"]
    assert len(usage) == result.stats["requests"] == 1
    assert usage[0]["input_tokens"] > 0


@pytest.mark.parametrize("fault", sorted(FAULTS))
async def test_every_fault_ends_in_a_valid_proposal(fault: str) -> None:
    key = None if fault == "auth-rejects-header" else KEY
    result = await compact_with(MockConfig(key=key, faults=frozenset({fault})))
    if fault in FAULT_CODES:
        assert codes(result) == {FAULT_CODES[fault]}
        assert reasons(result) == ["model_error"] * 8
        return
    assert codes(result) == set()
    if fault in SPOILED_ANSWERS:
        assert "invalid_answer" in reasons(result)
    elif fault in OTHER_ANSWERS:
        assert "invalid_answer" not in reasons(result)
    else:
        assert result.decisions == (await compact_with(MockConfig(key=KEY))).decisions


async def test_a_refused_key_is_not_tried_again() -> None:
    result = await compact_with(MockConfig(key=KEY), key="wrong", max_request_tokens=3000, max_concurrency=1)
    assert codes(result) == {"authentication_failed"}
    assert reasons(result) == ["model_error"] * 8
    assert result.stats["requests"] == 1


async def test_a_busy_server_is_asked_again() -> None:
    config = MockConfig(key=KEY, busy_every=2)
    result = await compact_with(config, max_request_tokens=3000, max_concurrency=1)
    assert codes(result) == set()
    assert result.stats["requests"] != 1
    assert config.requests > int(str(result.stats["requests"]))


async def test_a_server_that_is_always_busy_costs_only_the_compaction() -> None:
    result = await compact_with(MockConfig(key=KEY, busy_every=1))
    assert codes(result) == {"rate_limited"}
    assert reasons(result) == ["model_error"] * 8


async def test_a_server_that_is_not_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        base_url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    async with step_for(base_url, max_retries="0") as step:
        result = await compact(step)
        assert codes(result) == {"provider_unreachable"}
        assert reasons(result) == ["model_error"] * 8


async def test_a_server_that_never_answers() -> None:
    # Connections wait in the listening socket's queue, where nobody accepts them.
    with socket.create_server(("127.0.0.1", 0)) as silent:
        base_url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        async with step_for(base_url, max_retries="0", timeout="0.2") as step:
            assert codes(await compact(step)) == {"provider_timeout"}


async def test_many_compactions_at_once_agree() -> None:
    results: list[CompactionResult] = []
    with serving(MockConfig(key=KEY)) as base_url:
        async with step_for(base_url) as step, anyio.create_task_group() as group:

            async def once() -> None:
                results.append(await compact(step))

            for _ in range(4):
                group.start_soon(once)
    assert all(result.decisions == results[0].decisions for result in results)


async def test_a_closed_model_sends_nothing() -> None:
    config = MockConfig(key=KEY)
    with serving(config) as base_url:
        async with step_for(base_url) as step:
            await compact(step)
        asked = config.requests
        result = await compact(step)
        await step.aclose()
    assert config.requests == asked
    assert reasons(result) == ["model_error"] * 8


async def test_requests_to_other_servers_are_not_compressed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(COMPRESSORS, "zstd", lambda _: b"compressed")
    with serving(MockConfig(key=KEY)) as base_url:
        bare = JevClassifierModel(TypeSafeCredential(api_key=KEY, base_url=base_url), max_retries=0)
        with pytest.raises(TypeSafeAPIError):
            await bare("x" * 2000, {"q": BinaryQuestion(instructions="?")})
        await bare.client.aclose()
        async with step_for(base_url) as step:
            assert codes(await compact(step)) == set()


async def test_a_borrowed_classifier_survives_the_step() -> None:
    with serving(MockConfig(key=KEY)) as base_url:
        classifier = JevClassifierModel(TypeSafeCredential(api_key=KEY, base_url=base_url))
        step = CompactContextStep(as_decision_model=classifier)
        assert codes(await compact(step)) == set()
        await step.aclose()
        response = await classifier("state", {"q": BinaryQuestion(instructions="?")})
        assert 0 <= response.content["q"].probability <= 1
        await classifier.client.aclose()


@pytest.fixture(scope="module")
def sparrow() -> Iterator[str]:
    """Run `sparrow-decider serve` in its own process, and yield its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "sparrow_decider.cli", "serve", "--host", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not _answers(port):
            with contextlib.suppress(subprocess.TimeoutExpired):
                pytest.fail(f"sparrow-decider ended with {process.wait(timeout=0.05)}")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def _answers(port: int) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


async def test_a_real_model_judges_every_unit(sparrow: str) -> None:
    async with step_for(sparrow) as step:
        result = await compact(step)
    assert codes(result) == set()
    assert all(decision.probability is not None for decision in result.decisions)
    assert set(reasons(result)) <= {"low_relevance", "needed_or_uncertain"}


async def test_the_address_with_a_path_too_many_is_explained(sparrow: str) -> None:
    async with step_for(f"{sparrow}/v1") as step:
        result = await compact(step)
    assert codes(result) == {"decision_model_not_found"}
