"""Bad input over HTTP: a typed 4xx, or a pair that is untouched and explained; never a 500, never a lost request."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from reme_compact.compaction.step import CompactContextStep
from reme_compact.decision.protocol import BinaryAnswer, DecisionResponse
from reme_compact.service.app import create_app

Connect = Callable[[FastAPI], AbstractAsyncContextManager[httpx.AsyncClient]]

pytestmark = pytest.mark.anyio

JSON = {"content-type": "application/json"}
LONG = "icons/cart.svg, " * 200


async def nothing_is_needed(_: Any, questions: Any) -> DecisionResponse:
    return DecisionResponse(content=dict.fromkeys(questions, BinaryAnswer(0.01)))


@pytest.fixture
async def client(
    connect: Callable[[FastAPI], AbstractAsyncContextManager[httpx.AsyncClient]],
) -> AsyncIterator[httpx.AsyncClient]:
    step = CompactContextStep(as_decision_model=nothing_is_needed, token_counters={"broken": lambda: broken})
    async with connect(create_app(step=step)) as open_client:
        yield open_client


def broken(_: Any) -> int:
    raise ValueError("a secret of the history")


def text(role: str, words: str) -> dict[str, Any]:
    return {"role": role, "content": [{"type": "text", "text": words}]}


def call(identifier: str = "c1", **fields: Any) -> dict[str, Any]:
    plain = {"type": "tool_call", "id": identifier, "name": "search", "input": "{}", "state": "finished"}
    return plain | fields


def result(identifier: str = "c1", **fields: Any) -> dict[str, Any]:
    plain = {"type": "tool_result", "id": identifier, "name": "search", "output": LONG, "state": "success"}
    return plain | fields


def request_of(*blocks: dict[str, Any], **keys: Any) -> dict[str, Any]:
    """A request in which the pair `good` is to be replaced, beside the given blocks."""
    return {
        "goal": "Fix payment retries",
        "eligible_tool_names": ["search"],
        "source_refs": {"good": "archive/good", "c1": "archive/c1"},
        "options": {"preserve_recent_messages": 1},
        "messages": [
            text("user", "Retries charge twice"),
            {"role": "assistant", "content": [call("good"), result("good"), *blocks]},
            text("user", "Go on"),
        ],
    } | keys


async def post(client: httpx.AsyncClient, request: Any) -> httpx.Response:
    """Send a request as JSON in which every odd character is escaped."""
    return await client.post("/compact_context", content=json.dumps(request).encode("ascii"), headers=JSON)


async def refused(client: httpx.AsyncClient, content: bytes, status: int, code: str) -> dict[str, Any]:
    answer = await client.post("/compact_context", content=content, headers=JSON)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    document: dict[str, Any] = answer.json()
    return document


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1" * 5000])
@pytest.mark.parametrize("where", ["options", "block"])
async def test_a_number_that_is_none_is_400(client: httpx.AsyncClient, number: str, where: str) -> None:
    request = request_of(call(extra="HERE"), result())
    if where == "options":
        request = request_of(options={"drop_threshold": "HERE"})
    content = json.dumps(request).replace('"HERE"', number).encode()
    await refused(client, content, 400, "invalid_json")


@pytest.mark.parametrize(
    "content",
    [
        b'{"messages": [',
        b"{'messages': []}",
        b'{"messages": [], "messages": []}',
        b'{"options": {"drop_threshold": 0, "drop_threshold": 1}, "messages": []}',
        b'{"messages": "\xff\xfe"}',
        b"[" * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b"\x00",
    ],
    ids=["cut", "quotes", "twice", "twice inside", "not UTF-8", "open", "deep list", "deep object", "zero byte"],
)
async def test_what_is_not_acceptable_json_is_400(client: httpx.AsyncClient, content: bytes) -> None:
    await refused(client, content, 400, "invalid_json")


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"messages": []}, "messages"),
        ({"messages": None}, "messages"),
        ({"messages": [{"role": "robot", "content": []}]}, "messages[0].role"),
        ({"messages": [{"role": "user", "content": "text"}]}, "format"),
        ({"format": "agentscope", "messages": [{"role": "user", "content": "text"}]}, "messages[0].content"),
        ({"messages": [{"role": "tool", "content": 7}]}, "messages[0].role"),
        ({"messages": [{"role": "user", "content": ["text"]}]}, "messages[0].content[0]"),
        ({"messages": [7]}, "messages[0]"),
        ({"gaol": "Fix"}, "gaol"),
        ({"\ud800": 1}, ""),
        ({"goal": 123}, "goal"),
        ({"source_refs": {"c1": 1}}, "source_refs.c1"),
        ({"eligible_tool_names": "search"}, "eligible_tool_names"),
        ({"options": {"drop_treshold": 0.1}}, "options.drop_treshold"),
        ({"options": {"drop_threshold": True}}, "options.drop_threshold"),
        ({"options": {"drop_threshold": "0.1"}}, "options.drop_threshold"),
        ({"options": {"drop_threshold": 1.01}}, "options.drop_threshold"),
        ({"options": {"drop_threshold": -(2**70)}}, "options.drop_threshold"),
        ({"options": {"preserve_recent_messages": -1}}, "options.preserve_recent_messages"),
        ({"options": {"preserve_recent_messages": 1.5}}, "options.preserve_recent_messages"),
        ({"options": {"max_concurrency": 33}}, "options.max_concurrency"),
        ({"options": {"total_timeout_seconds": 0}}, "options.total_timeout_seconds"),
        ({"options": {"max_output_tokens": 100}}, "options.max_output_tokens"),
        ({"options": {"max_output_tokens": 100}, "token_counter": "unknown"}, "token_counter"),
        ({"options": {"max_output_tokens": 100}, "token_counter": "os:system"}, "token_counter"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_request_that_breaks_the_contract_is_422_and_names_the_place(
    client: httpx.AsyncClient, change: dict[str, Any], path: str
) -> None:
    answer = await post(client, request_of() | change)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")
    assert [problem["path"] for problem in answer.json()["problems"]] == [path]
    assert not path or f"{path}: " in answer.json()["message"]


async def test_a_counter_that_raises_is_422_without_its_text(client: httpx.AsyncClient) -> None:
    request = request_of(token_counter="broken", options={"max_output_tokens": 10})
    answer = await post(client, request)
    assert (answer.status_code, answer.json()["code"]) == (422, "token_counter_failed")
    assert "secret" not in answer.text


REF = {"source_refs": {"good": "archive/good"}}


@pytest.mark.parametrize(
    ("request_body", "rule"),
    [
        (request_of(call(), result(), call(), result()), "ambiguous_id"),
        (request_of(call(), result(), result()), "ambiguous_id"),
        (request_of(result(), call()), "result_missing"),
        (request_of(call()), "result_missing"),
        (request_of(call(), result(), source_refs=REF["source_refs"] | {"c1": " "}), "invalid_source_ref"),
        (request_of(call(), result(), source_refs=REF["source_refs"] | {"c1": "a\nb"}), "invalid_source_ref"),
        (request_of(call(), result(), source_refs=REF["source_refs"] | {"c1": "a\ud800"}), "invalid_source_ref"),
        (request_of(call(), result(), **REF), "no_source_ref"),
        (request_of(call("\ud800"), result("\ud800")), "no_source_ref"),
        (request_of(call(input="[" * 100_000 + "]" * 100_000), result()), "invalid_input"),
        (request_of(call(input='{"n": ' + "1" * 5000 + "}"), result()), "invalid_input"),
        (request_of(call(input='{"n": NaN}'), result()), "invalid_input"),
        (request_of(call(input=2**70), result()), "invalid_input"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_an_odd_pair_is_untouched_and_explained_and_the_rest_is_compacted(
    client: httpx.AsyncClient, request_body: dict[str, Any], rule: str
) -> None:
    answer = await post(client, request_body)
    assert answer.status_code == 200
    proposal = json.loads(answer.content)["answer"]
    good, *odd = proposal["decisions"]
    assert (good["action"], good["reason"]) == ("preview", "low_relevance")
    assert {decision["reason"] for decision in odd} == {"protected"}
    assert {proposal["stats"]["details"][decision["id"]] for decision in odd} == {rule}
    before, after = (messages[1]["content"] for messages in (request_body["messages"], proposal["messages"]))
    assert after[2:] == before[2:]
    assert after[1]["output"] != before[1]["output"]


async def test_a_lone_surrogate_in_a_result_never_fails_the_request(client: httpx.AsyncClient) -> None:
    request = request_of(call(), result(output=f"{LONG}\ud800"))
    answer = await post(client, request)
    assert answer.status_code == 200
    proposal = json.loads(answer.content)["answer"]
    good, odd = proposal["decisions"]
    assert good["action"] == "preview"
    if odd["action"] == "keep":
        assert proposal["messages"][1]["content"][3] == request["messages"][1]["content"][3]


@pytest.mark.parametrize(
    "keys",
    [
        {"goal": "g" * 130_000},
        {"goal": "lone \ud800"},
        {"messages": [text("system", f"rule {number}") for number in range(60)] + request_of()["messages"]},
    ],
    ids=["long goal", "surrogate goal", "60 system messages"],
)
async def test_a_request_that_is_only_large_or_odd_is_answered(client: httpx.AsyncClient, keys: dict[str, Any]) -> None:
    answer = await post(client, request_of(**keys))
    assert answer.status_code == 200
    [good] = json.loads(answer.content)["answer"]["decisions"]
    assert good["reason"] in {"low_relevance", "unobserved"}
