import json
from typing import Any

import pytest
from terminal import Terminal

from reme_compact.cli.output import choose_output, complain, errors_as_json, show, show_error
from reme_compact.cli.usage import UsageError
from reme_compact.client.problems import ReportedProblemError
from reme_compact.contract.errors import FieldProblem, InvalidRequestError, ServiceUnavailableError


def test_a_terminal_gets_the_report_and_a_pipe_gets_json(monkeypatch: pytest.MonkeyPatch) -> None:
    assert choose_output(None) == "json"
    monkeypatch.setattr("sys.stdout", Terminal())
    assert choose_output(None) == "report"
    assert choose_output("json") == "json"


def test_an_unknown_output_is_refused() -> None:
    with pytest.raises(UsageError, match="output: must be json, report, messages"):
        choose_output("yaml")


def test_json_is_alone_on_one_line(response: dict[str, Any], capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    response["answer"]["messages"][0]["content"][1]["output"] = "ü\ud800\n"
    show(response, "json")
    written, complaints = capfdbinary.readouterr()
    assert written.count(b"\n") == 1
    assert "ü".encode() in written
    assert json.loads(written) == response
    assert complaints == b""


def test_messages_alone(response: dict[str, Any], capfd: pytest.CaptureFixture[str]) -> None:
    show(response, "messages")
    assert json.loads(capfd.readouterr().out) == response["answer"]["messages"]


@pytest.mark.parametrize("output", ["json", "messages", "report"])
def test_troubles_go_to_standard_error(
    output: Any, response: dict[str, Any], capfd: pytest.CaptureFixture[str]
) -> None:
    response["answer"]["stats"] |= {
        "warnings": ["protected_call_ids: 'c9' matches nothing\x1b"],
        "errors": [{"code": "unauthorized", "message": "The key was refused.", "batches": 1}],
    }
    show(response, output)
    complaints = capfd.readouterr().err.splitlines()
    assert complaints == [
        "reme: decision model failed, its results are kept: unauthorized: The key was refused.",
        r"reme: warning: protected_call_ids: 'c9' matches nothing\x1b",
    ]


def test_one_screen_shows_a_warning_once(response: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    out, err = Terminal(), Terminal()
    monkeypatch.setattr("sys.stdout", out)
    monkeypatch.setattr("sys.stderr", err)
    response["answer"]["stats"]["warnings"] = ["mind the gap"]
    show(response, "report")
    assert "mind the gap" in out.text()
    assert err.text() == ""


def test_errors_are_sentences_for_people(capfd: pytest.CaptureFixture[str]) -> None:
    show_error(ServiceUnavailableError("No service answers."), as_json=False)
    assert capfd.readouterr().err == "reme: service_unreachable: No service answers. Trying again may help.\n"


def test_a_command_has_its_line_to_itself(capfd: pytest.CaptureFixture[str]) -> None:
    show_error(ServiceUnavailableError("No service answers. Start one with:\n  reme start"), as_json=False)
    assert capfd.readouterr().err == "reme: service_unreachable: No service answers. Start one with:\n    reme start\n"


def test_nothing_of_a_foreign_problem_steers_the_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    hostile = "\x1b[2J\u202e"
    document = {"code": hostile, "error": hostile, "message": f"{hostile}\n{hostile}", "retryable": False}
    for problems in (None, 3, [hostile], [{"path": hostile, "message": hostile}] * 2, [{hostile: hostile}] * 2):
        for as_json in (True, False):
            show_error(ReportedProblemError({**document, "problems": problems}), as_json=as_json)
            written = capfd.readouterr().err
            assert written
            assert "\x1b" not in written
            assert "\u202e" not in written


def test_a_foreign_problem_has_an_end(capfd: pytest.CaptureFixture[str]) -> None:
    long = "x" * 100_000
    document = {"code": long, "error": long, "message": f"{long}\n" * 1000, "retryable": False}
    show_error(ReportedProblemError(document), as_json=False)
    assert len(capfd.readouterr().err) < 50_000


def test_several_problems_have_a_line_each(capfd: pytest.CaptureFixture[str]) -> None:
    problems: list[FieldProblem] = [
        {"path": "options.x", "message": "unknown key; did you mean 'y'?"},
        {"path": "", "message": "and 3 more problems"},
    ]
    show_error(InvalidRequestError(problems), as_json=False)
    assert capfd.readouterr().err.splitlines() == [
        "reme: invalid_request: The request is refused.",
        "  options.x: unknown key; did you mean 'y'?",
        "  and 3 more problems",
    ]


@pytest.mark.parametrize("output", ["json", "report"])
def test_a_warning_that_repeats_a_failure_is_not_said_again(
    output: Any, response: dict[str, Any], capfd: pytest.CaptureFixture[str]
) -> None:
    response["answer"]["stats"] |= {
        "warnings": ["1 of 1 decision requests failed, their results are kept: It is away."],
        "errors": [{"code": "provider_unreachable", "message": "It is away.", "batches": 1}],
    }
    show(response, output)
    assert capfd.readouterr().err.splitlines() == [
        "reme: decision model failed, its results are kept: provider_unreachable: It is away."
    ]


def test_errors_are_problems_for_programs(capfd: pytest.CaptureFixture[str]) -> None:
    error = InvalidRequestError([{"path": "messages", "message": "is required"}])
    show_error(error, as_json=True)
    assert json.loads(capfd.readouterr().err) == {**error.fields(), **error.extra()}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("compact_context", True),
        ("compact_context output=json", True),
        ("compact_context --output=json", True),
        ("compact_context goal=output", True),
        ("compact_context output=report", False),
        ("start job=compact_context", True),
        ("start job=compact_context output=messages", False),
        ("start", False),
        ("jobs", True),
        ("jobs output=table", False),
        ("result 1", True),
        ("cancel 1", True),
        ("submit compact_context", False),
        ("submit compact_context output=json", True),
        ("watch 1", False),
        ("worker role=jobs", False),
    ],
)
def test_programs_are_recognised(words: str, expected: bool) -> None:
    command, *arguments = words.split()
    assert errors_as_json(command, arguments) is expected


def test_closed_streams_do_no_harm(response: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", None)
    monkeypatch.setattr("sys.stderr", None)
    complain("nobody hears this")
    show(response, choose_output(None))
    assert choose_output(None) == "json"
