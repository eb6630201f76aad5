"""Whatever the history and the answers: every preview that the archive stands for gives its result back."""

import asyncio
from typing import Any

import pytest
from archiving import SESSION, archived_request, check_recoverable, claimed, compact_with, decisions_of, memory_archive
from histories import Message, call, histories, load_history, message, result, trajectory_files
from hypothesis import given, settings
from hypothesis import strategies as st
from models import by_hash

from reme_compact import CompactionResult
from reme_compact.archive.reference import reference_to
from reme_compact.history.recovery import RECOVERY_TOOL

pytestmark = pytest.mark.anyio

OPTIONS = st.fixed_dictionaries(
    {
        "preview_chars": st.sampled_from([0, 1, 40, 300]),
        "drop_threshold": st.sampled_from([0.02, 0.1, 1]),
        "preserve_recent_pairs": st.integers(0, 2),
    }
)


def count(messages: list[Message]) -> int:
    return sum(len(str(block)) for item in messages for block in item["content"])


@st.composite
def histories_with_recoveries(draw: st.DrawFn) -> list[Message]:
    """Generate histories in which some results are read back from the session, of another one, or of nothing."""
    messages = draw(histories())
    texts = [block["output"] for item in messages for block in item["content"] if isinstance(block.get("output"), str)]
    for number in range(draw(st.integers(0, 3))):
        original = draw(st.sampled_from([*texts, "never stored"]))
        reference = draw(st.sampled_from([str(reference_to(SESSION, original)), "archive/x/y", 7]))
        blocks = [call(f"r{number}", RECOVERY_TOOL, {"ref": reference}), result(f"r{number}", original, RECOVERY_TOOL)]
        messages.insert(draw(st.integers(1, len(messages))), message("assistant", *blocks))
    return messages


def with_host_refs(data: st.DataObject, messages: list[Message]) -> dict[str, str]:
    ids = sorted({block["id"] for item in messages for block in item["content"] if block["type"] == "tool_call"})
    chosen = data.draw(st.sets(st.sampled_from(ids), max_size=3)) if ids else set()
    return {call_id: f"host/{call_id}" for call_id in chosen}


@settings(max_examples=120)
@given(messages=histories_with_recoveries(), options=OPTIONS, share=st.sampled_from([None, 0.3, 0.7]), data=st.data())
async def test_every_preview_gives_its_result_back(
    messages: list[Message], options: dict[str, Any], share: float | None, data: st.DataObject
) -> None:
    archive = memory_archive()
    refs = with_host_refs(data, messages)
    if share is not None:
        options = {**options, "max_output_tokens": max(1, int(share * count(messages)))}
    request = archived_request(messages, options=options, source_refs=refs)
    answer = await compact_with(archive, request, by_hash(), token_counter=count)
    CompactionResult.model_validate(answer, strict=True)
    previewed = check_recoverable(archive, SESSION, request, answer)
    assert answer["stats"]["archived"]["results"] <= previewed
    kept_by_archive = [decision for decision in decisions_of(answer) if decision["call_id"] not in refs]
    assert answer["stats"]["archived"]["results"] == len(kept_by_archive)
    assert set(claimed(archive)) <= {decision["call_id"] for decision in kept_by_archive}
    assert archive.verify().damages == ()

    # The host takes the proposal over, and compacts on: every earlier reference still opens.
    later = archived_request(answer["messages"], options=options, source_refs=refs)
    again = await compact_with(archive, later, by_hash(), token_counter=count)
    check_recoverable(archive, SESSION, later, again)
    check_recoverable(archive, SESSION, request, answer)


@settings(max_examples=40)
@given(sources=st.lists(histories(), min_size=2, max_size=4), share=st.sampled_from([0.3, 0.7]))
async def test_compactions_at_once_take_nothing_away_from_each_other(
    sources: list[list[Message]], share: float
) -> None:
    archive = memory_archive()
    requests = [
        archived_request(messages, options={"max_output_tokens": max(1, int(share * count(messages)))})
        for messages in [*sources, sources[0]]
    ]
    answers = await asyncio.gather(
        *(compact_with(archive, request, by_hash(), token_counter=count) for request in requests)
    )
    for request, answer in zip(requests, answers, strict=True):
        check_recoverable(archive, SESSION, request, answer)


@pytest.mark.parametrize("path", trajectory_files(), ids=lambda path: path.name.split(".")[0])
async def test_recorded_histories_with_a_budget(path: Any) -> None:
    messages = load_history(path)
    archive = memory_archive()
    request = archived_request(messages, options={"max_output_tokens": count(messages) * 7 // 10})
    answer = await compact_with(archive, request, by_hash(), token_counter=count)
    assert check_recoverable(archive, SESSION, request, answer) == len(decisions_of(answer))
