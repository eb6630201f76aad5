"""What later calls say about an earlier result, over the whole history."""

from typing import Any

import pytest
from histories import call, message, request_for, result, text

from reme_compact.contract.request import CompactionRequest
from reme_compact.history.pairs import pair_tool_blocks
from reme_compact.history.protection import Candidate, ProtectionRules
from reme_compact.history.supersession import Supersession, find_supersession, target_of

Blocks = list[dict[str, Any]]
NOTHING = Supersession()


def _facts(*pairs: Blocks, **fields: Any) -> list[Supersession | None]:
    """Return the facts about each pair, null where it is no candidate."""
    messages = [message("user", text("go")), *(message("assistant", *blocks) for blocks in pairs)]
    request = CompactionRequest.parse(request_for(messages, **fields))
    calls = pair_tool_blocks(request.messages).calls
    rules = ProtectionRules(request, calls)
    candidates = [checked for item in calls if isinstance(checked := rules.check(item), Candidate)]
    found = find_supersession(candidates, calls)
    asked = {candidate.call.id for candidate in candidates}
    assert set(found) <= asked
    assert NOTHING not in found.values()
    return [found.get(item.id, NOTHING) if item.id in asked else None for item in calls]


def _read(call_id: str, output: Any, tool_input: Any = '{"path": "a.py"}', name: str = "read_file") -> Blocks:
    return [call(call_id, name, tool_input), result(call_id, output, name)]


def test_a_result_alone_is_superseded_by_nothing() -> None:
    assert _facts(_read("a", "one")) == [NOTHING]


def test_only_later_results_count_and_each_is_counted() -> None:
    facts = _facts(_read("a", "one"), _read("b", "two"), _read("c", "three"))
    assert facts == [Supersession(same_input=2, same_target=2), Supersession(same_input=1, same_target=1), NOTHING]


def test_the_same_target_by_another_input() -> None:
    facts = _facts(_read("a", "one", '{"path": "a.py"}'), _read("b", "two", '{"path": "a.py", "from": 10}'))
    assert facts == [Supersession(same_target=1), NOTHING]


def test_another_target_or_another_tool_says_nothing() -> None:
    facts = _facts(
        _read("a", "one"),
        _read("b", "two", '{"path": "b.py"}'),
        _read("c", "three", name="search"),
        _read("d", "four", "{}"),
        _read("e", "five", '{"path": ""}'),
        _read("f", "six", '{"path": ["a.py"]}'),
    )
    assert facts == [NOTHING] * 6


def test_an_identical_text_later_also_from_another_tool() -> None:
    facts = _facts(_read("a", "same"), _read("b", "same", "{}", name="search"), _read("c", "other", '{"path": "x"}'))
    assert facts == [Supersession(same_result_later=True), NOTHING, NOTHING]


def test_an_identical_text_is_found_among_texts_that_look_alike() -> None:
    frame = "=" * 200
    first, second = f"{frame}1{frame}", f"{frame}2{frame}"
    inputs = [f'{{"path": "{n}"}}' for n in range(4)]
    facts = _facts(
        _read("a", first, inputs[0]), _read("b", first, inputs[1]), _read("c", second, inputs[2]), _read("d", "x", "{}")
    )
    assert facts == [Supersession(same_result_later=True), NOTHING, NOTHING, NOTHING]


def test_text_blocks_equal_the_text_they_make() -> None:
    facts = _facts(_read("a", [text("x"), text("y")], "{}"), _read("b", "x\ny", '{"path": "b"}'))
    assert facts == [Supersession(same_result_later=True), NOTHING]


@pytest.mark.parametrize(
    "later",
    [
        [call("z")],
        [call("z"), result("z", "one", state="error")],
        [call("z"), result("z", [{"type": "data"}])],
        [call("z"), result("z", "one"), result("z", "one")],
        [result("z", "one"), call("z")],
        [call("z", tool_input="[]"), result("z", "one")],
        [call("z", name="unknown"), result("z", "one")],
        [call("z", name=["read_file"]), result("z", "one")],
    ],
)
def test_what_is_no_readable_success_of_these_tools_supersedes_nothing(later: Blocks) -> None:
    assert _facts(_read("a", "one"), later, eligible_tool_names=["read_file"])[0] == NOTHING


def test_a_later_result_counts_though_it_is_protected_itself() -> None:
    facts = _facts(_read("a", "one"), _read("b", "one"), options={"preserve_recent_messages": 1})
    assert facts == [Supersession(same_result_later=True, same_input=1, same_target=1), None]


@pytest.mark.parametrize("odd", ["\ud800", 10**30])
def test_an_input_already_read_may_hold_what_utf_8_or_64_bits_cannot(odd: Any) -> None:
    facts = _facts(_read("a", "one", {"path": "p", "x": odd}), _read("b", "two", {"path": "p", "x": odd}))
    assert facts == [Supersession(same_input=1, same_target=1), NOTHING]


@pytest.mark.parametrize(
    ("tool_input", "target"),
    [
        ({"path": "a"}, "a"),
        ({"limit": 3, "file_path": "b"}, "b"),
        ({"url": "http://x"}, "http://x"),
        ({"path": "", "file": "c"}, "c"),
        ({"path": 7}, None),
        ({"query": "a"}, None),
        ({}, None),
    ],
)
def test_a_target_is_a_file_or_an_address(tool_input: dict[str, Any], target: str | None) -> None:
    assert target_of(tool_input) == target
