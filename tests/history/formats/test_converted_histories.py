"""Real histories, written as other providers would have: the same pairs are found, and no rule broken by reading."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from chat_histories import load_chat, recorded_chats
from format_checks import check_identity, check_replacements, opened, text_results
from histories import load_history
from provider_histories import CONVERTERS

from reme_compact.contract.formats import FormatName
from reme_compact.history.formats.opening import detect_format
from reme_compact.history.formats.registry import FORMATS
from reme_compact.history.pairs import pair_tool_blocks
from reme_compact.history.text import result_text

pytestmark = [
    pytest.mark.parametrize("file", recorded_chats(), ids=lambda path: path.stem),
    pytest.mark.parametrize("name", CONVERTERS),
]


def _pairs(view: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [
        (call.call_id, call.call["name"], call.pairing_rule, call.result and result_text(call.result))
        for call in pair_tool_blocks(view).calls
    ]


def _converted(file: Path, name: str) -> list[dict[str, Any]]:
    return CONVERTERS[name](load_chat(file))


def test_the_same_pairs_are_found_in_whichever_format(file: Path, name: FormatName) -> None:
    source = _converted(file, name)
    check_identity(FORMATS[name], source)
    pairs = _pairs(FORMATS[name].read(source))
    twin = file.with_name(file.name.replace(".openai.", ".agentscope."))
    if twin.exists():
        assert pairs == _pairs(load_history(twin))
    calls = [call for message in load_chat(file) for call in message.get("tool_calls") or []]
    assert [call_id for call_id, *_ in pairs] == [call["id"] for call in calls]


def test_only_what_the_log_itself_lacks_breaks_a_rule(file: Path, name: FormatName) -> None:
    chat = load_chat(file)
    calls = Counter(call["id"] for message in chat for call in message.get("tool_calls") or [])
    results = Counter(message["tool_call_id"] for message in chat if message["role"] == "tool")
    expected = Counter(
        unique_call_ids=sum(calls.values()) - len(calls),
        every_call_answered=sum((calls - results).values()),
        call_answered_once=sum(results.values()) - len(results) if name == "openai_responses" else 0,
    )
    assert Counter(found.rule for found in FORMATS[name].violations(_converted(file, name))) == +expected


def test_all_its_results_can_be_replaced(file: Path, name: FormatName) -> None:
    source = _converted(file, name)
    places = text_results(opened(FORMATS[name], source))
    assert places
    check_replacements(FORMATS[name], source, places)


def test_its_format_is_told(file: Path, name: FormatName) -> None:
    assert detect_format(_converted(file, name)) == name
