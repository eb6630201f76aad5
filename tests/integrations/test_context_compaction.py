"""What every framework relies on: previews stay, nothing is asked without need, and an agent never fails for it."""

import copy
import logging
from pathlib import Path
from typing import Any

import pytest
from models import always

from reme_compact.contract.errors import ConfigurationError, InvalidRequestError
from reme_compact.integrations.context_compaction import Compacted, ContextCompaction

pytestmark = pytest.mark.anyio


def turn(number: int, words: int = 600) -> list[dict[str, Any]]:
    function = {"name": "look", "arguments": "{}"}
    call = {"id": f"c{number}", "type": "function", "function": function}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": f"{number} " + "word " * words},
    ]


def history(turns: int) -> list[dict[str, Any]]:
    return [{"role": "user", "content": "Find out"}, *(item for number in range(turns) for item in turn(number))]


def compaction(folder: Path, model: Any = None, **settings: Any) -> ContextCompaction:
    given = {"trigger_tokens": 5_000, "eligible_tool_names": ["look"], "session": "s", **settings}
    return ContextCompaction(archive=str(folder), as_decision_model=model or always(0.0), **given)


async def compacted(it: ContextCompaction, messages: list[dict[str, Any]], **names: Any) -> Compacted:
    before = copy.deepcopy(messages)
    result = await it.compact(messages, format="openai_chat", **names)
    assert messages == before
    return result


async def test_below_the_trigger_nothing_is_asked_and_nothing_changes(tmp_path: Path) -> None:
    model = always(0.0)
    messages = history(3)
    result = await compacted(compaction(tmp_path, model), messages)
    assert (result.messages, result.changed, result.answer) == (messages, False, None)
    assert model.asked == []
    assert all(now is before for now, before in zip(result.messages, messages, strict=True))


async def test_what_was_replaced_stays_replaced_though_the_whole_history_comes_again(tmp_path: Path) -> None:
    model = always(0.0)
    it = compaction(tmp_path, model)
    seen: list[dict[str, Any]] = []
    for turns in range(1, 31):
        result = await compacted(it, history(turns))
        first = result.answer["stats"]["first_changed_message"] if result.answer else None
        unchanged = len(seen) if first is None else min(first, len(seen))
        assert result.messages[:unchanged] == seen[:unchanged]
        seen = result.messages
    previews = [message for message in seen if "[Compacted output." in str(message.get("content"))]
    assert len(previews) == 26
    assert sorted(model.asked) == sorted({f"t{number}" for number in range(1, 27)})


async def test_every_original_can_be_read_back(tmp_path: Path) -> None:
    it = compaction(tmp_path)
    messages = history(12)
    result = await compacted(it, messages)
    tool = it.recovery_tool()
    replaced = 0
    for now, before in zip(result.messages, messages, strict=True):
        if now is not before:
            reference = now["content"].splitlines()[-1]
            assert tool(ref=reference, max_chars=16_384) == before["content"]
            replaced += 1
    assert replaced == 8


async def test_sessions_do_not_see_each_other(tmp_path: Path) -> None:
    it = compaction(tmp_path)
    await compacted(it, history(12), session="a")
    result = await compacted(it, history(3), session="b")
    assert not result.changed
    assert (await compacted(it, history(3), session="a")).changed


async def test_a_failure_is_logged_and_the_known_previews_stay(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    it = compaction(tmp_path)
    first = await compacted(it, history(12))

    async def broken(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("secret words of a message")

    monkeypatch.setattr(it._step, "run", broken)
    with caplog.at_level(logging.ERROR):
        result = await compacted(it, history(20))
    assert result.messages[: len(first.messages) - 8] == first.messages[:-8]
    assert result.changed
    assert result.answer is None
    assert "RuntimeError" in caplog.text
    assert "secret" not in caplog.text


async def test_a_broken_history_goes_on_as_it_is(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    messages: Any = [{"role": "robot", "content": 7}]
    result = await compaction(tmp_path).compact(messages, format="openai_chat")
    assert result.messages is messages
    assert "InvalidRequestError" in caplog.text


def test_without_a_loop_and_inside_of_one(tmp_path: Path) -> None:
    result = compaction(tmp_path).compact_now(history(12), format="openai_chat")
    assert result.changed


async def test_inside_of_a_loop_it_may_block(tmp_path: Path) -> None:
    assert compaction(tmp_path).compact_now(history(12), format="openai_chat").changed


async def test_too_small_a_saving_changes_nothing(tmp_path: Path) -> None:
    result = await compacted(compaction(tmp_path, min_saved_tokens=1_000_000), history(12))
    assert not result.changed
    assert result.answer is not None
    assert result.answer["reason"] == "budget_exceeded"


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"target_tokens": 5_000}, ConfigurationError),
        ({"target_tokens": 0}, ConfigurationError),
        ({"trigger_tokens": 0}, ConfigurationError),
        ({"preserve_recent_pairs": -1}, InvalidRequestError),
        ({"options": {"drop_treshold": 1}}, InvalidRequestError),
        ({"session": " "}, InvalidRequestError),
        ({"token_counter": "estimat"}, ConfigurationError),
        ({"model": 7}, TypeError),
    ],
)
def test_what_makes_no_sense_is_refused_when_it_is_made(
    tmp_path: Path, settings: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        compaction(tmp_path, **settings)


async def test_without_a_name_each_object_has_a_session_of_its_own(tmp_path: Path) -> None:
    one, other = compaction(tmp_path, session=None), compaction(tmp_path, session=None)
    result = await compacted(one, history(12))
    reference = next(m["content"] for m in result.messages if "[Compacted" in str(m.get("content"))).splitlines()[-1]
    assert one.recovery_tool()(ref=reference)
    assert "reference_not_found" in other.recovery_tool().answer({"ref": reference})
