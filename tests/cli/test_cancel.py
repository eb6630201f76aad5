import json

import pytest
from scripted_service import JOB_ID, ScriptedService, job_document, problem

from reme_compact.cli.exit_codes import ExitCode
from reme_compact.cli.main import main

CANCEL = f"DELETE /jobs/{JOB_ID}"


def cancel(scripted: ScriptedService, *words: str) -> int:
    return main(["cancel", JOB_ID, "host=127.0.0.1", f"port={scripted.port}", *words])


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ("cancelled", f"{JOB_ID} is cancelled.\n"),
        ("succeeded", f"{JOB_ID} had finished before (succeeded), and stays what it is.\n"),
        ("running", f"{JOB_ID} is being cancelled; so far it is running.\n"),
    ],
)
def test_what_the_job_is_now(
    status: str, said: str, scripted: ScriptedService, capsys: pytest.CaptureFixture[str]
) -> None:
    scripted.answers(CANCEL, 200, job_document(status=status))
    assert cancel(scripted, "output=text") == ExitCode.PROPOSAL
    assert capsys.readouterr() == (said, "")
    assert scripted.paths() == [CANCEL]


def test_a_program_gets_the_job(scripted: ScriptedService, capfd: pytest.CaptureFixture[str]) -> None:
    scripted.answers(CANCEL, 200, job_document(status="cancelled"))
    assert cancel(scripted) == ExitCode.PROPOSAL
    assert json.loads(capfd.readouterr().out) == job_document(status="cancelled")


def test_a_job_that_is_not_there_is_a_failure(scripted: ScriptedService, capsys: pytest.CaptureFixture[str]) -> None:
    scripted.answers(CANCEL, 404, problem(404, "job_not_found"))
    assert cancel(scripted, "output=text") == ExitCode.FAILURE
    assert "another API key" in capsys.readouterr().err


@pytest.mark.parametrize(("words", "named"), [([], "id: which job?"), ([JOB_ID, "output=table"], "text or json")])
def test_a_mistake_is_explained(words: list[str], named: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cancel", *words]) == ExitCode.USAGE
    assert named in capsys.readouterr().err
