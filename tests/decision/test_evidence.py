"""An evidence unit shows both ends of an input and a result, says what is missing, and leaves out what says nothing."""

from typing import Any

import orjson
import pytest
from histories import call, long_text, message, request_for, result, text

from reme_compact.contract.request import CompactionRequest
from reme_compact.decision.evidence import build_evidence_unit
from reme_compact.history.pairs import pair_tool_blocks
from reme_compact.history.protection import Candidate, ProtectionRules
from reme_compact.history.supersession import Supersession


def _candidate(output: Any, tool_input: Any = '{"path": "a.py"}', name: str = "read_file") -> Candidate:
    blocks = [call("c1", name, tool_input), result("c1", output, name)]
    request = CompactionRequest.parse(request_for([message("user", text("go")), message("assistant", *blocks)]))
    calls = pair_tool_blocks(request.messages).calls
    found = ProtectionRules(request, calls).check(calls[0])
    assert isinstance(found, Candidate)
    return found


def _unit(candidate: Candidate, superseded: Supersession | None = None, evidence_chars: int = 2000) -> dict[str, Any]:
    unit = build_evidence_unit(candidate, superseded, evidence_chars)
    assert unit is not None
    return unit


def test_a_short_pair_is_shown_whole() -> None:
    assert _unit(_candidate("line one\nline two", ' {"path":  "a.py"}')) == {
        "id": "t1",
        "tool": "read_file",
        "input": ' {"path":  "a.py"}',
        "input_complete": True,
        "result": "line one\nline two",
        "result_complete": True,
        "result_chars": 17,
    }


def test_the_reference_and_the_call_id_are_none_of_the_model_s_business() -> None:
    written = orjson.dumps(_unit(_candidate("x" * 100)))
    assert b"archive" not in written
    assert b"c1" not in written


@pytest.mark.parametrize("chars", [99, 100, 101, 5000])
def test_what_is_longer_than_allowed_shows_both_ends_and_says_so(chars: int) -> None:
    words = long_text("result", chars)
    unit = _unit(_candidate(words, '{"path": "' + "p" * (chars - 12) + '"}'), evidence_chars=100)
    complete = chars <= 100
    assert unit["result_complete"] is unit["input_complete"] is complete
    assert unit["result_chars"] == chars
    assert len(unit["result"]) == len(unit["input"]) == min(chars, 100)
    assert words.startswith(unit["result"][:40])
    assert words.endswith(unit["result"][-40:])


def test_characters_are_counted_and_not_bytes() -> None:
    unit = _unit(_candidate("漢" * 150), evidence_chars=150)
    assert (unit["result_complete"], unit["result_chars"]) == (True, 150)


def test_text_blocks_are_shown_as_one_text() -> None:
    assert _unit(_candidate([text("a"), text("b")]))["result"] == "a\nb"


@pytest.mark.parametrize(
    ("superseded", "facts"),
    [
        (None, {}),
        (Supersession(), {}),
        (Supersession(same_result_later=True), {"same_result_later": True}),
        (Supersession(same_input=3), {"newer_results_for_same_input": 3}),
        (Supersession(same_target=2), {"newer_results_for_same_target": 2}),
        (
            Supersession(same_result_later=True, same_input=1, same_target=4),
            {"same_result_later": True, "newer_results_for_same_input": 1, "newer_results_for_same_target": 4},
        ),
    ],
)
def test_facts_about_later_calls_stand_there_only_when_there_are_any(
    superseded: Supersession | None, facts: dict[str, Any]
) -> None:
    plain = _unit(_candidate("x"))
    assert _unit(_candidate("x"), superseded) == {**plain, **facts}


@pytest.mark.parametrize(
    "candidate",
    [
        _candidate("a\ud800b"),
        _candidate("x" * 5000 + "\udfff" + "x" * 5000),
        _candidate("x", {"path": "\ud800"}),
        _candidate("x", '{"path": "\ud800"}'),
        _candidate("x", name="\ud800"),
    ],
    ids=["result", "middle of a result", "input object", "input text", "tool"],
)
def test_what_cannot_be_shown_faithfully_is_not_shown(candidate: Candidate) -> None:
    assert build_evidence_unit(candidate, None, 2000) is None


@pytest.mark.parametrize(
    "tool_input", [{"n": 10**30}, '{"n": 1' + "0" * 3000 + "}", '{"a": "\\ud800"}'], ids=["large", "long", "escaped"]
)
def test_unusual_inputs_that_can_be_written_are_shown(tool_input: Any) -> None:
    orjson.dumps(_unit(_candidate("x", tool_input)))
