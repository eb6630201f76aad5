import json
from typing import Any

import pytest
from scripted_service import JOB_ID, ScriptedService, problem

from reme_compact.cli.exit_codes import ExitCode
from reme_compact.cli.main import main

RESULT = f"GET /jobs/{JOB_ID}/result"


def result(scripted: ScriptedService, *words: str) -> int:
    return main(["result", JOB_ID, "host=127.0.0.1", f"port={scripted.port}", *words])


def test_json_is_the_response_as_compact_context_shows_it(
    scripted: ScriptedService, response: dict[str, Any], capfd: pytest.CaptureFixture[str]
) -> None:
    scripted.answers(RESULT, 200, response)
    assert result(scripted) == ExitCode.PROPOSAL
    assert json.loads(capfd.readouterr().out) == response


def test_messages_alone(scripted: ScriptedService, response: dict[str, Any], capfd: pytest.CaptureFixture[str]) -> None:
    scripted.answers(RESULT, 200, response)
    assert result(scripted, "output=messages") == ExitCode.PROPOSAL
    assert json.loads(capfd.readouterr().out) == response["answer"]["messages"]


def test_the_report_does_without_the_request(
    scripted: ScriptedService, response: dict[str, Any], capfd: pytest.CaptureFixture[str]
) -> None:
    response["answer"]["stats"]["warnings"] = ["mind the gap"]
    scripted.answers(RESULT, 200, response)
    assert result(scripted, "output=report") == ExitCode.PROPOSAL
    report, complaints = capfd.readouterr()
    assert "Proposal: compacted (1 of 3 tool results become previews)" in report
    assert "archive each replaced original" in report
    assert "warning: mind the gap" in complaints


def test_a_response_without_success_is_a_failure(
    scripted: ScriptedService, response: dict[str, Any], capfd: pytest.CaptureFixture[str]
) -> None:
    scripted.answers(RESULT, 200, {**response, "success": False})
    assert result(scripted) == ExitCode.FAILURE
    assert json.loads(capfd.readouterr().out)["success"] is False


@pytest.mark.parametrize(
    ("status", "code", "advice"),
    [
        (409, "job_not_finished", f"Wait for it with:\n    reme watch {JOB_ID} host=127.0.0.1 port="),
        (409, "job_cancelled", "Submit the request again"),
        (410, "job_expired", "Submit the request again"),
        (404, "job_not_found", "reme jobs host=127.0.0.1 port="),
        (504, "start_timeout", "A worker may be missing"),
        (422, "token_counter_failed", "So it is."),
    ],
)
def test_no_result_says_why_and_what_to_do(
    status: int, code: str, advice: str, scripted: ScriptedService, capfd: pytest.CaptureFixture[str]
) -> None:
    scripted.answers(RESULT, status, problem(status, code))
    assert result(scripted, "output=report") == ExitCode.FAILURE
    written, complaint = capfd.readouterr()
    assert complaint.startswith(f"reme: {code}: So it is.")
    assert advice in complaint
    assert written == ""


def test_a_program_gets_the_four_fields(scripted: ScriptedService, capfd: pytest.CaptureFixture[str]) -> None:
    scripted.answers(RESULT, 409, problem(409, "job_not_finished", retryable=True))
    assert result(scripted) == ExitCode.FAILURE
    fields = json.loads(capfd.readouterr().err)
    assert (fields["code"], fields["error"], fields["retryable"]) == ("job_not_finished", "SomeError", True)


def test_an_answer_that_is_no_response_is_no_service(
    scripted: ScriptedService, capfd: pytest.CaptureFixture[str]
) -> None:
    scripted.answers(RESULT, 200, {"answer": 1, "success": True})
    assert result(scripted) == ExitCode.UNREACHABLE
    assert "not a reme service" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ([], "id: which job?"),
        (["x"], "'x' is not the id of a job"),
        ([JOB_ID, "goal=x"], "goal: unknown key"),
        ([JOB_ID, "output=table"], "output: must be json, report, messages"),
        ([JOB_ID, "timeout=0"], "timeout: must be"),
    ],
)
def test_a_mistake_is_explained(words: list[str], named: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["result", *words]) == ExitCode.USAGE
    assert named in capsys.readouterr().err
