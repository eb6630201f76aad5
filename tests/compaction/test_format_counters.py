"""Token counters and formats: a host's own counter gets its own messages, registered ones count what they mean."""

import copy
import json
from typing import Any

import pytest
from models import always, by_hash
from written_formats import WRITINGS, chat_of, format_of, request_of

from reme_compact import AdditiveTokenCounter, CompactContextStep, CompactionRequest
from reme_compact.history.formats.registry import FORMATS
from reme_compact.tokens.counters import TokenCounter
from reme_compact.tokens.registry import build_token_counter

pytestmark = pytest.mark.anyio
EVERY_WRITING = pytest.mark.parametrize("writing", WRITINGS)

CONSTANT = 7


def count_message(message: dict[str, Any]) -> int:
    return 3 + len(json.dumps(message)) // 4


def count_messages(messages: list[dict[str, Any]]) -> int:
    return CONSTANT + sum(map(count_message, messages))


async def run(request: dict[str, Any], counter: Any = None, model: Any = None, **step: Any) -> dict[str, Any]:
    before = copy.deepcopy(request)
    made = CompactContextStep(as_decision_model=model or by_hash(), token_counter=counter, **step)
    answer: dict[str, Any] = (await made.run(CompactionRequest.parse(request))).answer
    assert request == before
    answer["stats"].pop("elapsed_ms")
    return answer


@EVERY_WRITING
@pytest.mark.parametrize("share", [0.3, 0.6, 0.9, 1.0])
async def test_the_hosts_counters_count_its_own_messages_and_decide_alike(writing: str, share: float) -> None:
    tokens = count_messages(WRITINGS[writing](chat_of(8)))
    budget = int(share * tokens)
    request = request_of(chat_of(8), writing, options={"max_output_tokens": budget, "preserve_recent_pairs": 1})
    opaque = await run(request, count_messages)
    additive = await run(request, AdditiveTokenCounter(count_message, CONSTANT))
    after = count_messages(opaque["messages"])
    for answer in (opaque, additive):
        stats = answer["stats"]
        assert (stats["tokens_before"], stats["tokens_after"]) == (tokens, after)
        assert answer["budget_met"] == (after <= budget)
    first = additive["stats"].pop("tokens_from_first_change")
    assert opaque["stats"].pop("tokens_from_first_change") is None
    at = additive["stats"]["first_changed_message"]
    assert first == (None if at is None else sum(map(count_message, additive["messages"][at:])))
    assert opaque == additive


@EVERY_WRITING
async def test_a_counter_is_given_messages_of_the_source_and_of_the_proposal(writing: str) -> None:
    seen: list[Any] = []

    def remember(messages: list[dict[str, Any]]) -> int:
        seen.append(copy.deepcopy(messages))
        return count_messages(messages)

    request = request_of(chat_of(3), writing, options={"max_output_tokens": 1})
    answer = await run(request, remember, always(0.0))
    assert seen[0] == request["messages"]
    assert seen[-1] == answer["messages"] != request["messages"]
    assert len(seen) == 1 + len(answer["decisions"])


@EVERY_WRITING
async def test_a_counter_that_takes_its_copy_apart_reaches_nothing(writing: str) -> None:
    def take_apart(value: Any) -> None:
        for item in list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []:
            take_apart(item)
        if isinstance(value, dict | list):
            value.clear()

    def opaque(messages: list[dict[str, Any]]) -> int:
        total = count_messages(messages)
        take_apart(messages)
        return total

    def of_message(message: dict[str, Any]) -> int:
        total = count_message(message)
        take_apart(message)
        return total

    request = request_of(chat_of(5), writing, options={"max_output_tokens": 1500})
    expected = await run(request, AdditiveTokenCounter(count_message, CONSTANT))
    assert await run(request, AdditiveTokenCounter(of_message, CONSTANT)) == expected
    expected["stats"]["tokens_from_first_change"] = None
    assert await run(request, opaque) == expected


@EVERY_WRITING
@pytest.mark.parametrize("share", [None, 0.5])
async def test_registered_counters_count_what_the_messages_mean(writing: str, share: float | None) -> None:
    counter: Any = build_token_counter("estimate", CONSTANT)

    def estimated(messages: list[dict[str, Any]], first: int = 0) -> int:
        view = FORMATS[format_of(writing)].read(messages)
        return sum(counter.count_message(message) for message in view[first:])

    source = WRITINGS[writing](chat_of(8))
    options = {} if share is None else {"max_output_tokens": int(share * (CONSTANT + estimated(source)))}
    request = request_of(chat_of(8), writing, token_counter="registered", options=options)
    answer = await run(request, token_counters={"registered": lambda: counter})
    stats = answer["stats"]
    assert answer["changed"]
    assert stats["tokens_before"] == CONSTANT + estimated(source)
    assert stats["tokens_after"] == CONSTANT + estimated(answer["messages"])
    assert stats["tokens_from_first_change"] == estimated(answer["messages"], stats["first_changed_message"])
    assert stats["token_counter"] == {"name": "estimate", "approximate": True}


async def test_the_same_messages_count_the_same_in_whichever_format_they_are_written_one_by_one() -> None:
    def counter() -> TokenCounter:
        return build_token_counter("estimate")

    counts = {}
    for writing in ("agentscope", "openai_chat", "langchain.data", "langchain.constructor", "langchain.fields"):
        request = request_of(chat_of(8), writing, token_counter="registered", options={"max_output_tokens": 4000})
        answer = await run(request, token_counters={"registered": counter})
        stats = answer["stats"]
        counts[writing] = (
            stats["tokens_after"],
            stats["first_changed_message"],
            stats["tokens_from_first_change"],
            [decision["action"] for decision in answer["decisions"]],
        )
    assert all(count == counts["agentscope"] for count in counts.values())
