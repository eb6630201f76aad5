"""The real AgentScope `OpenAIClassifierModel`, built from a preset, against a server that speaks OpenAI Decisions."""

import contextlib
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from reme_compact.compaction.step import CompactContextStep
from reme_compact.contract.result import CompactionResult
from reme_compact.presets.assemble import assemble_job
from reme_compact.presets.load import load_preset

pytestmark = pytest.mark.anyio

KEY = "test-key"
PROBABILITIES = (0.02, 0.9, 0.1, 0.5)
Answer = Callable[[list[str]], Any]


class _Decisions(ThreadingHTTPServer):
    """Answers `POST /v1/decisions` with what `answer` makes of the names of the questions."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer
        self.requests: list[dict[str, Any]] = []


class _Handler(BaseHTTPRequestHandler):
    server: _Decisions

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path != "/v1/decisions":
            return self._send(404, {"error": {"message": "no such route"}})
        if self.headers["Authorization"] != f"Bearer {KEY}":
            return self._send(401, {"error": {"message": "wrong key"}})
        request = json.loads(body)
        self.server.requests.append(request)
        answer = self.server.answer([question["name"] for question in request["questions"]])
        return self._send(*answer) if isinstance(answer, tuple) else self._send(200, answer)

    def _send(self, status: int, body: Any) -> None:
        raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Keep the test output quiet."""


def decision(answers: list[dict[str, Any]], **changes: Any) -> dict[str, Any]:
    """Return a body of the Decisions API; a change to null leaves the field out."""
    usage = {
        "input_tokens": 7,
        "input_tokens_details": {"cache_write_tokens": 0, "cached_tokens": 0},
        "output_tokens": 3,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 10,
    }
    body = {"model": "gpt-6-luna", "answers": answers, "usage": usage, **changes}
    return {key: value for key, value in body.items() if value is not None}


def predicates(names: list[str], probabilities: tuple[Any, ...] = PROBABILITIES) -> list[dict[str, Any]]:
    """Answer every question, in order."""
    return [
        {"type": "predicate", "name": name, "probability": probability}
        for name, probability in zip(names, probabilities, strict=True)
    ]


@contextlib.contextmanager
def serving(answer: Answer) -> Iterator[_Decisions]:
    """Serve on a free port."""
    server = _Decisions(answer)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextlib.asynccontextmanager
async def step_for(server: _Decisions, *, key: str = KEY, path: str = "/v1") -> AsyncIterator[CompactContextStep]:
    """Assemble the packaged job for a server, and close it."""
    preset = load_preset(
        overrides={"components.as_decision_model.compaction.max_retries": "0"},
        environment={
            "DECISION_MODEL_BACKEND": "agentscope_openai",
            "DECISION_MODEL_API_KEY": key,
            "DECISION_MODEL_BASE_URL": f"http://127.0.0.1:{server.server_address[1]}{path}",
        },
    )
    step = assemble_job(preset, "compact_context")
    try:
        yield step
    finally:
        await step.aclose()


async def compact(step: CompactContextStep) -> CompactionResult:
    """Compact a history of four long results; the proposal is valid whatever the server does."""
    content: list[dict[str, Any]] = []
    for number in range(4):
        shared = {"id": f"c{number}", "name": "read_file"}
        text = f"file {number}: " + "every line says something else " * 40
        content.append({"type": "tool_call", **shared, "input": f'{{"n": {number}}}', "state": "finished"})
        content.append({"type": "tool_result", **shared, "output": text, "state": "success"})
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "Compare the files"}]},
        {"role": "assistant", "content": content},
        {"role": "user", "content": [{"type": "text", "text": "Go on"}]},
    ]
    response = await step(
        messages=messages,
        eligible_tool_names=["read_file"],
        source_refs={f"c{number}": f"archive/c{number}" for number in range(4)},
        options={"preserve_recent_messages": 1, "drop_threshold": 0.1},
    )
    return CompactionResult.model_validate(response.answer)


def outcomes(result: CompactionResult) -> list[tuple[str, str]]:
    """Return action and reason of every decision."""
    return [(decision.action, decision.reason) for decision in result.decisions]


def codes(result: CompactionResult) -> set[str]:
    """Return the codes of everything that failed."""
    errors: Any = result.stats["errors"]
    return {error["code"] for error in errors}


DROPPED, NEEDED, INVALID = ("preview", "low_relevance"), ("keep", "needed_or_uncertain"), ("keep", "invalid_answer")


async def test_probabilities_decide_and_usage_is_reported() -> None:
    with serving(lambda names: decision(predicates(names))) as server:
        async with step_for(server) as step:
            result = await compact(step)
    assert outcomes(result) == [DROPPED, NEEDED, DROPPED, NEEDED]
    usage: Any = result.stats["usage"]
    assert [(entry["input_tokens"], entry["output_tokens"]) for entry in usage] == [(7, 3)]
    (request,) = server.requests
    assert request["model"] == "gpt-6-luna"
    assert {question["type"] for question in request["questions"]} == {"predicate"}
    assert all(question["instructions"] for question in request["questions"])
    assert json.loads(request["input"])["goal"] == "Go on"


async def test_a_refusal_keeps_only_its_own_result() -> None:
    def refuse_first(names: list[str]) -> Any:
        return decision([{"type": "refusal", "name": names[0]}, *predicates(names)[1:]])

    with serving(refuse_first) as server:
        async with step_for(server) as step:
            result = await compact(step)
    assert outcomes(result) == [INVALID, NEEDED, DROPPED, NEEDED]
    assert result.decisions[0].probability is None
    assert codes(result) == set()


@pytest.mark.parametrize("probability", [1.5, -0.01, "0.01", True, False, None, float("nan"), float("-inf"), [0.01]])
async def test_what_is_no_probability_keeps_only_its_own_result(probability: Any) -> None:
    with serving(lambda names: decision(predicates(names, (probability, *PROBABILITIES[1:])))) as server:
        async with step_for(server) as step:
            result = await compact(step)
    assert outcomes(result) == [INVALID, NEEDED, DROPPED, NEEDED]


async def test_missing_and_unasked_answers() -> None:
    def answer(names: list[str]) -> Any:
        extra = {"type": "predicate", "name": "nobody asked", "probability": 0.0}
        return decision([extra, *predicates(names)[2:]])

    with serving(answer) as server:
        async with step_for(server) as step:
            result = await compact(step)
    assert outcomes(result) == [INVALID, INVALID, DROPPED, NEEDED]


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ((400, {"error": {"message": "too long"}}), "request_refused"),
        ((403, {"error": {"message": "no"}}), "authentication_failed"),
        ((404, {"error": {"message": "no such model"}}), "decision_model_not_found"),
        ((429, {"error": {"message": "slow down"}}), "rate_limited"),
        ((500, "not even JSON"), "provider_error"),
        ((307, {}), "decision_model_not_found"),
        ("not JSON", "invalid_response"),
        ("", "invalid_response"),
        ("[]", "invalid_response"),
        ("null", "invalid_response"),
        (decision([], usage=None), "invalid_response"),
        (decision([{"type": "essay", "name": "t1", "text": "..."}]), "invalid_response"),
        ({"model": "m"}, "invalid_response"),
    ],
)
async def test_a_failed_request_keeps_its_results(answer: Any, code: str) -> None:
    with serving(lambda _: answer) as server:
        async with step_for(server) as step:
            result = await compact(step)
    assert codes(result) == {code}
    assert outcomes(result) == [("keep", "model_error")] * 4


async def test_a_refused_key_and_a_wrong_path() -> None:
    with serving(lambda names: decision(predicates(names))) as server:
        async with step_for(server, key="wrong") as step:
            assert codes(await compact(step)) == {"authentication_failed"}
        async with step_for(server, path="/api") as step:
            assert codes(await compact(step)) == {"decision_model_not_found"}
    assert server.requests == []


async def test_a_closed_model_sends_nothing() -> None:
    with serving(lambda names: decision(predicates(names))) as server:
        async with step_for(server) as step:
            await compact(step)
        result = await compact(step)
        await step.aclose()
    assert len(server.requests) == 1
    assert outcomes(result) == [("keep", "model_error")] * 4
