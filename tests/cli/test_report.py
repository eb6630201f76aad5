import io
from typing import Any, get_args

import pytest

from reme_compact.cli.explanations import REASONS, RULES
from reme_compact.cli.report import print_report
from reme_compact.contract.result import DecisionReason


def report(response: dict[str, Any], width: int = 120) -> str:
    file = io.StringIO()
    print_report(response, file, width=width)
    return file.getvalue()


def test_sizes_before_and_after(response: dict[str, Any]) -> None:
    lines = [line.split() for line in report(response).splitlines()]
    assert ["characters", "20,000", "15,000", "25%"] in lines
    assert ["tokens", "(estimate,", "approximate)", "5,000", "4,000", "20%"] in lines


def test_tokens_are_left_out_when_unknown(response: dict[str, Any]) -> None:
    response["answer"]["stats"] |= {"tokens_before": None, "tokens_after": None, "token_counter": None}
    assert "tokens" not in report(response)


def test_every_decision_has_a_line_that_says_why(response: dict[str, Any]) -> None:
    lines = [line.split() for line in report(response).splitlines()]
    assert ["t1", "read_file", "c1", "preview", "0.030", "low_relevance", "archive/c1"] in lines
    assert ["t2", "run_tests", "c2", "keep", "-", "no_savings", "archive/c2"] in lines
    assert ["t3", "deploy", "c3", "keep", "-", "protected:", "tool_not_eligible"] in lines


def test_the_reasons_that_occur_are_explained(response: dict[str, Any]) -> None:
    text = report(response)
    assert REASONS["no_savings"] in text
    assert RULES["tool_not_eligible"] in text
    assert REASONS["timeout"] not in text


def test_a_narrow_terminal_loses_nothing(response: dict[str, Any]) -> None:
    text = report(response, width=40)
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 40
    words = " ".join(text.split())
    for shown in (
        "t1 read_file c1",
        "preview, low_relevance, needed 0.030",
        "archive/c1",
        "protected: tool_not_eligible",
    ):
        assert shown in words


@pytest.mark.parametrize("width", [40, 120])
def test_foreign_text_cannot_steer_the_terminal(response: dict[str, Any], width: int) -> None:
    hostile = "\x1b]0;owned\x07\n[bold]x"
    answer = response["answer"]
    answer["messages"][0]["content"][0]["name"] = hostile
    answer["decisions"][0] |= {"call_id": hostile, "source_ref": hostile}
    answer["messages"][0]["content"][0]["id"] = hostile
    answer["stats"]["warnings"] = [hostile]
    answer["stats"]["errors"] = [{"code": hostile, "message": hostile, "batches": 2}]
    answer["stats"]["details"] = {"t1": hostile}
    text = report(response, width)
    assert "\x1b" not in text
    assert "\x07" not in text
    assert r"\x1b" in text


def test_long_ids_are_cut(response: dict[str, Any]) -> None:
    response["answer"]["decisions"][0]["call_id"] = "call_" + "0" * 200
    assert "0" * 60 not in report(response)
    assert "…" in report(response)


def test_warnings_and_failures_are_shown(response: dict[str, Any]) -> None:
    response["answer"]["stats"] |= {
        "warnings": ["eligible_tool_names: 'grep' matches nothing"],
        "errors": [{"code": "rate_limited", "message": "Too many requests.", "batches": 3}],
    }
    text = report(response)
    assert "Warning: eligible_tool_names: 'grep' matches nothing" in text
    assert "rate_limited: Too many requests. (3 batches)" in text


def test_colours_are_for_terminals_only(response: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm-256color")
    coloured, plain = Terminal(), Terminal()
    print_report(response, coloured, width=100)
    monkeypatch.setenv("NO_COLOR", "1")
    print_report(response, plain, width=100)
    assert "\x1b[1;32m" in coloured.getvalue()
    assert "32m" not in plain.getvalue()


def test_an_empty_history_has_a_report(response: dict[str, Any]) -> None:
    response["answer"] |= {"decisions": [], "messages": [], "changed": False, "reason": "no_candidates", "stats": {}}
    assert "no tool calls" in report(response)


def test_the_same_id_twice_keeps_each_tool_name(response: dict[str, Any]) -> None:
    answer = response["answer"]
    for block in answer["messages"][0]["content"]:
        block["id"] = "c1"
    for decision in answer["decisions"]:
        decision["call_id"] = "c1"
    lines = [line.split()[:2] for line in report(response).splitlines()]
    assert ["t1", "read_file"] in lines
    assert ["t2", "run_tests"] in lines


def test_every_reason_of_the_contract_is_explained() -> None:
    assert set(REASONS) == set(get_args(DecisionReason))


def test_a_failure_is_reported_once(response: dict[str, Any]) -> None:
    message = "The decision model cannot be reached."
    response["answer"]["stats"] |= {
        "errors": [{"code": "provider_unreachable", "message": message, "batches": 1}],
        "warnings": [f"1 of 1 decision requests failed, their results are kept: {message}", "mind the gap"],
    }
    text = " ".join(report(response).split())
    assert text.count(message) == 1
    assert "mind the gap" in text


def test_a_detail_that_repeats_its_reason_is_left_out(response: dict[str, Any]) -> None:
    response["answer"]["decisions"][1]["reason"] = "timeout"
    response["answer"]["stats"]["details"]["t2"] = "timeout"
    assert "timeout: timeout" not in report(response)
    assert ["t2", "run_tests", "c2", "keep", "-", "timeout", "archive/c2"] in [
        line.split() for line in report(response).splitlines()
    ]


EXPLANATION = "a newer result exists for the same input; it shares less with the task than other results do"


def test_an_explanation_has_its_own_column(response: dict[str, Any]) -> None:
    response["answer"]["stats"]["explanations"] = {"t1": EXPLANATION}
    lines = report(response, width=200).splitlines()
    assert next(line for line in lines if "t1 " in line).rstrip().endswith(f"archive/c1  {EXPLANATION}")
    assert any(line.split()[-2:] == ["reference", "explanation"] for line in lines)


def test_an_explanation_is_cut_to_its_column(response: dict[str, Any]) -> None:
    response["answer"]["stats"]["explanations"] = {"t1": EXPLANATION}
    (line,) = [line for line in report(response, width=120).splitlines() if "t1 " in line]
    assert "a newer result exists" in line
    assert line.rstrip().endswith("…")
    assert len(line.rstrip()) <= 120


def test_an_explanation_without_room_for_a_column_stands_in_the_two_lines(response: dict[str, Any]) -> None:
    response["answer"]["stats"]["explanations"] = {"t1": EXPLANATION}
    lines = [line.rstrip() for line in report(response, width=80).splitlines()]
    place = next(number for number, line in enumerate(lines) if line.startswith("  t1 "))
    assert lines[place].startswith("  t1 read_file c1: a newer result exists")
    assert lines[place].endswith("…")
    assert lines[place + 1] == "    preview, low_relevance, needed 0.030, archive/c1"
    assert max(map(len, lines)) <= 80


def test_on_a_very_narrow_terminal_an_explanation_is_wrapped(response: dict[str, Any]) -> None:
    response["answer"]["stats"]["explanations"] = {"t1": EXPLANATION}
    text = report(response, width=40)
    assert EXPLANATION in " ".join(text.split())
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 40


def test_the_threshold_stands_beside_what_it_decided(response: dict[str, Any]) -> None:
    file = io.StringIO()
    print_report(response, file, request={"options": {"drop_threshold": 0.25}}, width=120)
    assert "at or below drop_threshold (0.25)" in file.getvalue()
    assert "drop_threshold (" not in report(response)


def test_a_probability_is_shown_on_its_side_of_the_threshold(response: dict[str, Any]) -> None:
    response["answer"]["decisions"][0]["probability"] = 0.10004
    file = io.StringIO()
    print_report(response, file, request={"options": {}}, width=120)
    assert " 0.10004 " in file.getvalue()


def test_the_advice_knows_what_was_sent(response: dict[str, Any]) -> None:
    response["answer"] |= {"changed": False, "reason": "no_change"}
    response["answer"]["decisions"][0] |= {"action": "keep", "reason": "needed_or_uncertain"}
    file = io.StringIO()
    print_report(response, file, request={"goal": "Fix it"}, width=120)
    assert "pass next_action=" in " ".join(file.getvalue().split())
