"""Every protection rule, alone and in the company of each that comes after it."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from histories import call, long_text, message, result, text

from reme_compact.contract.request import CompactionRequest
from reme_compact.history.pairs import pair_tool_blocks
from reme_compact.history.protection import Candidate, ProtectionRules

MARKED = "head\n…\ntail\n[Compacted output. Recover from: elsewhere]"


class Case:
    """A history of one candidate, `c1`, in which rules can be made to match one by one."""

    def __init__(self, *rules: str) -> None:
        self.call = call("c1")
        self.result = result("c1", long_text("c1"))
        self.blocks = [self.call, self.result]
        self.carrier = message("assistant", message_id="m1")
        self.before = [message("user", text("go"))]
        self.options = {"preserve_recent_messages": 0}
        self.fields: dict[str, Any] = {"source_refs": {"c1": "r"}, "eligible_tool_names": ["read_file"]}
        for rule in rules:
            MAKE_MATCH[rule](self)

    def check(self) -> str | Candidate:
        """Return what the rules say of the first call."""
        self.carrier["content"] = self.blocks
        request = CompactionRequest.parse(
            {
                "messages": [*self.before, self.carrier, message("user", text("on"))],
                "options": self.options,
                **self.fields,
            }
        )
        calls = pair_tool_blocks(request.messages).calls
        return ProtectionRules(request, calls).check(calls[0])


MAKE_MATCH: dict[str, Callable[[Case], None]] = {
    "result_missing": lambda case: case.blocks.remove(case.result),
    "ambiguous_id": lambda case: case.blocks.append(call("c1")),
    "first_message": lambda case: case.before.clear(),
    "system_message": lambda case: case.carrier.update(role="system"),
    "recent": lambda case: case.options.update(preserve_recent_messages=2),
    "protected_message": lambda case: case.fields.update(protected_message_ids=["m1"]),
    "protected_call": lambda case: case.fields.update(protected_call_ids=["c1"]),
    "tool_not_eligible": lambda case: case.fields.update(eligible_tool_names=["search"]),
    "call_not_finished": lambda case: case.call.update(state="pending"),
    "result_not_success": lambda case: case.result.update(state="error"),
    "name_mismatch": lambda case: case.result.update(name="search"),
    "not_text": lambda case: case.result.update(output=[text(MARKED), {"type": "data", "source": {}}]),
    "invalid_input": lambda case: case.call.update(input="[]"),
    "no_source_ref": lambda case: case.fields["source_refs"].clear(),
    "invalid_source_ref": lambda case: case.fields.update(source_refs=dict.fromkeys(case.fields["source_refs"], " ")),
    "already_compacted": lambda case: case.result.update(output=MARKED),
}
ORDER = list(MAKE_MATCH)
"""The design's order; `archive_failed` comes with the archive."""

# A reference cannot be both absent and unusable.
TOGETHER = [pair for pair in pairwise(ORDER) if pair != ("no_source_ref", "invalid_source_ref")]


def test_without_any_rule_a_pair_is_a_candidate() -> None:
    case = Case()
    found = case.check()
    assert isinstance(found, Candidate)
    assert (found.tool, found.tool_input, found.source_ref) == ("read_file", {"path": "a.py"}, "r")
    assert found.text is case.result["output"]
    assert (found.call.call_at, found.result_at) == ((1, 0), (1, 1))


@pytest.mark.parametrize("rule", ORDER)
def test_each_rule_alone(rule: str) -> None:
    assert Case(rule).check() == rule


@pytest.mark.parametrize(("first", "second"), TOGETHER)
def test_each_rule_wins_over_the_following_one(first: str, second: str) -> None:
    assert Case(second, first).check() == first


@pytest.mark.parametrize("start", range(len(ORDER)))
def test_each_rule_wins_over_all_that_come_after_it(start: int) -> None:
    assert Case(*reversed(ORDER[start:])).check() == ORDER[start]


@pytest.mark.parametrize("name", [None, 1, ["read_file"], {"read_file": 1}, "", "Read_File", "read_file "])
def test_only_the_exact_name_is_eligible(name: Any) -> None:
    case = Case()
    case.call["name"] = case.result["name"] = name
    assert case.check() == "tool_not_eligible"


def test_nothing_is_eligible_by_default() -> None:
    case = Case()
    del case.fields["eligible_tool_names"]
    assert case.check() == "tool_not_eligible"


@pytest.mark.parametrize("state", [None, "asking", "running", "success", "Finished", True, ["finished"]])
def test_only_a_finished_call_counts(state: Any) -> None:
    case = Case()
    case.call["state"] = state
    assert case.check() == "call_not_finished"
    del case.call["state"]
    assert case.check() == "call_not_finished"


@pytest.mark.parametrize("state", [None, "error", "interrupted", "denied", "running", "finished", {}])
def test_only_a_successful_result_counts(state: Any) -> None:
    case = Case()
    case.result["state"] = state
    assert case.check() == "result_not_success"
    del case.result["state"]
    assert case.check() == "result_not_success"


@pytest.mark.parametrize(
    "output",
    [
        None,
        7,
        {},
        {"type": "text", "text": "x"},
        ["x"],
        [text("x"), {"type": "data"}],
        [{"type": "text"}],
        [[text("x")]],
    ],
)
def test_only_text_can_be_replaced(output: Any) -> None:
    case = Case()
    case.result["output"] = output
    assert case.check() == "not_text"
    del case.result["output"]
    assert case.check() == "not_text"


def test_text_blocks_are_text() -> None:
    case = Case()
    case.result["output"] = [text("a"), text("b")]
    found = case.check()
    assert isinstance(found, Candidate)
    assert found.text == "a\nb"


def test_a_marker_in_the_last_text_block_is_a_preview() -> None:
    case = Case()
    case.result["output"] = [text("a"), text("[Compacted output. Recover from: r]")]
    assert case.check() == "already_compacted"


@pytest.mark.parametrize("value", [None, "", "x", "null", "1", '"{}"', "[]", '{"a": NaN}', '{"a": 1, "a": 2}', [], 1])
def test_an_input_is_a_json_object(value: Any) -> None:
    case = Case()
    case.call["input"] = value
    assert case.check() == "invalid_input"
    del case.call["input"]
    assert case.check() == "invalid_input"


@pytest.mark.parametrize("reference", ["", " ", "\u3000", "a\nb", "a\x00", "\x7f", "\x85x", "a\ud800", "\r", "\t"])
def test_a_reference_that_cannot_stand_in_a_line_is_unusable(reference: str) -> None:
    case = Case()
    case.fields["source_refs"] = {"c1": reference}
    assert case.check() == "invalid_source_ref"


@pytest.mark.parametrize(
    "reference", ["0", "]", "s3://b/k?x=[1]", " padded ", "漢字", "👩‍👩‍👧", "a\u2028b", "[Compacted output."]
)
def test_otherwise_a_reference_is_opaque(reference: str) -> None:
    case = Case()
    case.fields["source_refs"] = {"c1": reference}
    found = case.check()
    assert isinstance(found, Candidate)
    assert found.source_ref == reference
