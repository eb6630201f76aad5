"""What a provider's prompt cache has to read anew: from the first changed message on, counted by hand."""

import json
from typing import Any

import pytest
from histories import call, long_text, message, request_for, result, text
from models import ScriptedModel, always
from written_formats import WRITINGS, chat_of, request_of

from reme_compact import AdditiveTokenCounter, BinaryAnswer, CompactContextStep

pytestmark = pytest.mark.anyio

MARKER = "\n[Compacted output. Recover from: archive/c1]"
MESSAGES = [
    message("user", text("Fix the retries")),
    message("assistant", call("c0"), result("c0", long_text("c0"))),
    message("assistant", call("c1"), result("c1", long_text("c1"))),
    message("assistant", call("c2"), result("c2", long_text("c2"))),
    message("user", text("Go on")),
]


def needs_all_but(*names: str) -> ScriptedModel:
    return ScriptedModel(lambda unit: BinaryAnswer(0.0 if unit["result"].split(":")[0] in names else 0.9))


def ten_each(item: dict[str, Any]) -> int:
    """Ten tokens a message, and one for each character of a result."""
    return 10 + sum(len(block.get("output", "")) for block in item["content"])


def one_a_block(block: dict[str, Any]) -> int:
    return len(block.get("output", ""))


BY_MESSAGE = AdditiveTokenCounter(ten_each, constant=1000)
BY_BLOCK = AdditiveTokenCounter(ten_each, constant=1000, count_block=one_a_block)


def opaque(messages: list[dict[str, Any]]) -> int:
    return 1000 + sum(map(ten_each, messages))


async def stats_of(model: Any, counter: Any = None, **options: Any) -> dict[str, Any]:
    step = CompactContextStep(as_decision_model=model, token_counter=counter)
    request = request_for(MESSAGES, options={"preview_chars": 0, **options})
    stats: dict[str, Any] = (await step(**request)).answer["stats"]
    return stats


def first_change(stats: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Return the first changed message, and the characters and tokens from there on."""
    return stats["first_changed_message"], stats["chars_from_first_change"], stats["tokens_from_first_change"]


@pytest.mark.parametrize("counter", [BY_MESSAGE, BY_BLOCK], ids=["by message", "by block"])
async def test_it_is_the_changed_message_and_all_after_it_without_the_constant(counter: Any) -> None:
    stats = await stats_of(needs_all_but("c1"), counter, max_output_tokens=1)
    changed = [
        {**MESSAGES[2], "content": [MESSAGES[2]["content"][0], {**MESSAGES[2]["content"][1], "output": MARKER}]},
        *MESSAGES[3:],
    ]
    chars = len(json.dumps(changed, separators=(",", ":")))
    assert first_change(stats) == (2, chars, 10 + len(MARKER) + 10 + 2000 + 10)


@pytest.mark.parametrize("counter", [BY_MESSAGE, BY_BLOCK], ids=["by message", "by block"])
@pytest.mark.parametrize("options", [{"max_output_tokens": 1}, {"min_saved_tokens": 1}], ids=["budget", "no budget"])
async def test_of_several_changes_the_first_in_the_history_counts(counter: Any, options: dict[str, int]) -> None:
    stats = await stats_of(needs_all_but("c0", "c2"), counter, **options)
    assert first_change(stats)[::2] == (1, 10 + len(MARKER) + 10 + 2000 + 10 + len(MARKER) + 10)
    assert stats["tokens_after"] == 1000 + 10 + first_change(stats)[2]


async def test_a_change_of_the_first_message_of_all_is_all_of_the_history() -> None:
    stats = await stats_of(needs_all_but("c0"), BY_MESSAGE, min_saved_tokens=1)
    head = len(json.dumps(MESSAGES[:1], separators=(",", ":")))
    # The two parts are lists of their own: two brackets more than the whole has, and no comma between them.
    assert stats["chars_after"] == head + stats["chars_from_first_change"] - 1


@pytest.mark.parametrize(
    ("model", "options"),
    [
        (always(0.9), {"max_output_tokens": 1}),
        (always(0.0), {"max_output_tokens": 100_000}),
        (always(0.0), {"min_saved_tokens": 100_000}),
    ],
    ids=["needed", "within budget", "not worth it"],
)
@pytest.mark.parametrize("counter", [BY_MESSAGE, BY_BLOCK, opaque], ids=["by message", "by block", "opaque"])
async def test_where_nothing_changed_there_is_none(model: Any, options: dict[str, int], counter: Any) -> None:
    stats = await stats_of(model, counter, **options)
    assert first_change(stats) == (None, None, None)


async def test_a_counter_of_whole_histories_cannot_tell_and_neither_can_none() -> None:
    by_opaque = await stats_of(needs_all_but("c1"), opaque, max_output_tokens=1)
    uncounted = await stats_of(needs_all_but("c1"))
    for stats in (by_opaque, uncounted):
        index, chars, tokens = first_change(stats)
        assert (index, tokens) == (2, None)
        assert chars is not None
    assert first_change(by_opaque)[1] == first_change(uncounted)[1]


@pytest.mark.parametrize("writing", WRITINGS)
async def test_it_is_the_place_in_the_callers_own_history(writing: str) -> None:
    request = request_of(chat_of(5), writing)
    answer = (await CompactContextStep(as_decision_model=needs_all_but("c1", "c3"))(**request)).answer
    pairs = zip(answer["messages"], request["messages"], strict=True)
    first = next(index for index, (now, before) in enumerate(pairs) if now != before)
    tail = json.dumps(answer["messages"][first:], ensure_ascii=False, separators=(",", ":"))
    assert first_change(answer["stats"]) == (first, len(tail), None)
