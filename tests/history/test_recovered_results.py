"""What an agent read back: left alone while it is recent, and later a candidate under the original's reference."""

from typing import Any

import pytest
from histories import call, history, long_text, message, request_for, result, text

from reme_compact.archive.reference import Session, reference_to
from reme_compact.archive.session_references import OwnReferences
from reme_compact.contract.request import CompactionRequest
from reme_compact.history.pairs import pair_tool_blocks
from reme_compact.history.protection import Candidate, ProtectionRules
from reme_compact.history.recovery import RECOVERED_PAIRS_KEPT, RECOVERY_TOOL

MINE, THEIRS = Session("mine"), Session("theirs")
REFERENCE = str(reference_to(MINE, "the original"))


def recovery(call_id: str = "r", tool_input: Any = None, output: Any = None, **fields: Any) -> dict[str, Any]:
    """Return a message in which an original is read back."""
    tool_input = {"ref": REFERENCE, "offset": 0} if tool_input is None else tool_input
    output = long_text("recovered") if output is None else output
    asked = call(call_id, RECOVERY_TOOL, tool_input)
    return message("assistant", asked, result(call_id, output, RECOVERY_TOOL, **fields))


def check(messages: list[dict[str, Any]], *, archive: Session | None = MINE, **fields: Any) -> dict[str, Any]:
    """Return, per call id, the rule or the candidate."""
    fields = {"source_refs": {}, "eligible_tool_names": ["read_file"], **fields}
    request = CompactionRequest.parse(request_for(messages, **fields))
    refs = request.source_refs
    may_go_by_place = (lambda call_id: call_id not in refs) if archive is not None else (lambda _: False)
    calls = pair_tool_blocks(request.messages, may_go_by_place=may_go_by_place).calls
    rules = ProtectionRules(request, calls, OwnReferences(archive) if archive is not None else None)
    return {item.call_id: rules.check(item) for item in calls}


def later(pairs: int, first: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """Return a history in which so many pairs follow what was read back."""
    before, *others = history(pairs)
    return [before, recovery() if first is None else first, *others]


def test_it_is_kept_while_its_pair_is_one_of_the_last_five() -> None:
    assert RECOVERED_PAIRS_KEPT == 5
    for pairs in range(5):
        assert check(later(pairs))["r"] == "recently_recovered"
    found = check(later(5))["r"]
    assert isinstance(found, Candidate)
    assert (found.source_ref, found.kept_by) == (REFERENCE, "archive_already")


def test_only_pairs_count_and_by_the_place_of_their_results() -> None:
    open_calls = message("assistant", *(call(f"open{n}") for n in range(9)))
    assert check([*later(4), open_calls])["r"] == "recently_recovered"
    late = message("user", *recovery()["content"][1:])
    messages = [message("user", text("go")), message("assistant", recovery()["content"][0]), *history(5)[1:], late]
    assert check(messages)["r"] == "recently_recovered"


def test_recent_pairs_of_the_host_come_first() -> None:
    assert check(later(2), options={"preserve_recent_pairs": 3})["r"] == "recent"
    assert check(later(2), protected_call_ids=["r"])["r"] == "protected_call"


def test_other_results_are_candidates_however_recent() -> None:
    found = check(later(1))["c0"]
    assert isinstance(found, Candidate)
    assert (found.source_ref, found.kept_by) == (str(reference_to(MINE, long_text("c0"))), "archive")


def test_it_needs_no_name_in_eligible_tool_names_but_only_if_it_can_be_read_back_again() -> None:
    odd = [
        {"ref": str(reference_to(THEIRS, "the original"))},
        {"ref": REFERENCE.upper()},
        {"ref": "archive/../../etc/passwd"},
        {"ref": None},
        {"ref": [REFERENCE]},
        {"reference": REFERENCE},
        {},
        "[]",
        "not json",
    ]
    for tool_input in odd:
        assert check(later(5, recovery(tool_input=tool_input)))["r"] == "tool_not_eligible"
    assert check(later(5), archive=THEIRS)["r"] == "tool_not_eligible"
    assert check(later(5), archive=None, source_refs={"r": "host"})["r"] == "tool_not_eligible"


@pytest.mark.parametrize("copied", [f"[Compacted output. Recover from: {REFERENCE}]", f"'{REFERENCE}'\n"])
def test_a_reference_that_was_copied_with_the_words_around_it_is_the_same_original(copied: str) -> None:
    found = check(later(5, recovery(tool_input={"ref": copied})))["r"]
    assert isinstance(found, Candidate)
    assert (found.source_ref, found.kept_by) == (REFERENCE, "archive_already")


def test_named_as_eligible_what_opens_nothing_is_a_result_like_any_other() -> None:
    elsewhere = recovery(tool_input={"ref": str(reference_to(THEIRS, "the original"))})
    eligible = ["read_file", RECOVERY_TOOL]
    found = check(later(5, elsewhere), eligible_tool_names=eligible)["r"]
    assert isinstance(found, Candidate)
    assert (found.source_ref, found.kept_by) == (str(reference_to(MINE, long_text("recovered"))), "archive")
    assert check(later(4, elsewhere), eligible_tool_names=eligible)["r"] == "recently_recovered"


@pytest.mark.parametrize(
    ("changed", "rule"),
    [
        (recovery(state="error"), "result_not_success"),
        (recovery(output=[{"type": "data", "source": {}}]), "not_text"),
        (recovery(output="head\n[Compacted output. Recover from: x]"), "already_compacted"),
    ],
)
def test_the_other_rules_hold_for_it_too(changed: dict[str, Any], rule: str) -> None:
    assert check(later(5, changed))["r"] == rule


def test_another_tool_with_such_an_input_reads_nothing_back() -> None:
    blocks = [call("x", "read_file", {"ref": REFERENCE}), result("x", long_text("x"))]
    found = check(later(5, message("assistant", *blocks)))["x"]
    assert isinstance(found, Candidate)
    assert found.source_ref == str(reference_to(MINE, long_text("x")))


def test_a_reference_of_the_host_wins() -> None:
    messages = later(6)
    found = check(messages, source_refs={"r": "host/r", "c0": "host/c0"})
    assert [(found[name].source_ref, found[name].kept_by) for name in ("r", "c0")] == [
        ("host/r", "host"),
        ("host/c0", "host"),
    ]
    assert found["c1"].kept_by == "archive"
    assert check(messages, source_refs={"c0": " "})["c0"] == "invalid_source_ref"


def test_a_reused_id_with_a_reference_of_the_host_stays_ambiguous() -> None:
    twice = [message("assistant", call("c"), result("c", long_text(str(n)))) for n in range(2)]
    messages = [message("user", text("go")), *twice]
    assert check(messages, source_refs={"c": "host/c"})["c"] == "ambiguous_id"
    assert check(messages, archive=None)["c"] == "ambiguous_id"
    assert isinstance(check(messages)["c"], Candidate)


def test_without_a_reference_and_without_an_archive_a_result_is_kept() -> None:
    assert check(history(1), archive=None)["c0"] == "no_source_ref"


def test_a_preview_gets_no_reference_of_its_own() -> None:
    marked = message("assistant", call("p"), result("p", long_text("p") + "\n[Compacted output. Recover from: y]"))
    assert check([*history(1), marked, message("user", text("on"))])["p"] == "already_compacted"
