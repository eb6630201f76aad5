import json
import sys
from pathlib import Path
from typing import Any

import pytest
from scripted_service import JOB_ID, ScriptedService, job_document, problem
from terminal import Terminal

from reme_compact.cli.exit_codes import ExitCode
from reme_compact.cli.main import main

MESSAGES = 'messages=[{"role":"user","content":[]}]'
PATH = "/jobs/compact_context"


def submit(scripted: ScriptedService, *words: str) -> int:
    return main(["submit", "compact_context", MESSAGES, "host=127.0.0.1", f"port={scripted.port}", *words])


def test_the_id_is_alone_on_standard_output(scripted: ScriptedService, capsys: pytest.CaptureFixture[str]) -> None:
    scripted.answers(f"POST {PATH}", 202, job_document())
    assert submit(scripted) == ExitCode.PROPOSAL
    assert capsys.readouterr() == (f"{JOB_ID}\n", "")


def test_the_request_is_the_one_that_compact_context_sends(
    scripted: ScriptedService, response: dict[str, Any], capfd: pytest.CaptureFixture[str]
) -> None:
    scripted.answers(f"POST {PATH}", 202, job_document())
    scripted.answers("POST /compact_context", 200, response)
    keys = ["goal=größer 🙂", 'options={"preview_chars":5}', "options.drop_threshold=0.3", "source_refs.c1=ref"]
    assert submit(scripted, *keys) == ExitCode.PROPOSAL
    words = [MESSAGES, "host=127.0.0.1", f"port={scripted.port}", *keys, "output=json"]
    assert main(["compact_context", *words]) == ExitCode.PROPOSAL
    first, second = scripted.asked
    assert first.body == second.body
    assert json.loads(first.body)["goal"] == "größer 🙂"
    assert first.headers["content-type"] == "application/json"


def test_what_is_said_about_the_job_goes_where_it_belongs(scripted: ScriptedService) -> None:
    scripted.answers(f"POST {PATH}", 202, job_document())
    assert submit(scripted, "idempotency_key=run-7/step~2", "start_within_seconds=2.5", "wait=3") == ExitCode.PROPOSAL
    (asked,) = scripted.asked
    assert asked.path == f"{PATH}?start_within_seconds=2.5"
    assert asked.headers["idempotency-key"] == "run-7/step~2"
    assert asked.headers["prefer"] == "wait=3"
    assert "goal" not in json.loads(asked.body)


def test_nothing_is_said_that_was_not_asked_for(scripted: ScriptedService) -> None:
    scripted.answers(f"POST {PATH}", 202, job_document())
    submit(scripted)
    (asked,) = scripted.asked
    assert asked.path == PATH
    assert not {"prefer", "authorization"} & set(asked.headers)


def test_the_whole_job_as_json(scripted: ScriptedService, capfd: pytest.CaptureFixture[str]) -> None:
    document = job_document(status="succeeded", new_field={"of": "a newer service"})
    scripted.answers(f"POST {PATH}", 200, document)
    assert submit(scripted, "wait=60", "output=json") == ExitCode.PROPOSAL
    assert json.loads(capfd.readouterr().out) == document


@pytest.mark.parametrize(
    ("document", "headers", "said"),
    [
        (job_document(), {}, f"the job is queued. Next:\n  reme watch {JOB_ID} host=127.0.0.1 port="),
        (job_document(waiting_for="worker"), {}, "the job is queued, no worker. Next:\n  reme watch "),
        (job_document(status="succeeded"), {}, "the job is succeeded. Next:\n  reme result "),
        (job_document(status="failed"), {}, "the job is failed. Next:\n  reme jobs "),
        (job_document(), {"Idempotency_Replayed": "true"}, "an earlier request with this idempotency_key; the job is"),
    ],
)
def test_a_person_is_told_what_comes_next(
    document: dict[str, Any],
    headers: dict[str, str],
    said: str,
    scripted: ScriptedService,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    scripted.answers(f"POST {PATH}", 202, document, **headers)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert submit(scripted, *(["idempotency_key=mine"] if headers else [])) == ExitCode.PROPOSAL
    assert terminal.text().startswith(f"reme: {said}")
    assert capsys.readouterr().out == f"{JOB_ID}\n"


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["submit"], "a job is missing: reme submit compact_context KEY=VALUE"),
        (["submit", "goal=x"], "a job is missing"),
        (["submit", "compact_contxt", MESSAGES], "did you mean 'compact_context'?"),
        (["submit", "tidy", MESSAGES], "there is no job 'tidy'; there is 'compact_context'."),
        (["submit", "compact_context"], "messages: is required"),
        (["submit", "compact_context", MESSAGES, "wiat=3"], "did you mean 'wait'?"),
        (["submit", "compact_context", MESSAGES, "wait=2.5"], "wait: must be a whole number"),
        (["submit", "compact_context", MESSAGES, "wait=-1"], "wait: must be a whole number from 0"),
        (["submit", "compact_context", MESSAGES, "start_within_seconds=0"], "start_within_seconds: must be"),
        (["submit", "compact_context", MESSAGES, "start_within_seconds=1e9"], "above 0, at most 1,000,000."),
        (["submit", "compact_context", MESSAGES, "idempotency_key=@nowhere"], "there is no file 'nowhere'"),
        (["submit", "compact_context", "messages=-", "idempotency_key=-"], "standard input is already read for mess"),
        (["submit", "compact_context", MESSAGES, "idempotency_key="], "idempotency_key: must be 1 to 255"),
        (["submit", "compact_context", MESSAGES, "idempotency_key=a b"], "idempotency_key: must be 1 to 255"),
        (["submit", "compact_context", MESSAGES, "idempotency_key=ü"], "idempotency_key: must be 1 to 255"),
        (["submit", "compact_context", MESSAGES, f"idempotency_key={'a' * 256}"], "idempotency_key: must be 1 to 255"),
        (["submit", "compact_context", MESSAGES, "output=report"], "output: must be id or json"),
    ],
)
def test_a_mistake_is_explained_before_anything_is_sent(
    words: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == ExitCode.USAGE
    written, complaint = capsys.readouterr()
    assert named in complaint
    assert "reme submit --help" in complaint
    assert written == ""


@pytest.mark.parametrize(
    ("status", "code", "advice"),
    [
        (422, "idempotency_conflict", "another idempotency_key="),
        (429, "too_many_jobs", "reme jobs host=127.0.0.1"),
        (404, "not_found", "has no jobs: it is older than this command line"),
        (422, "invalid_request", "So it is."),
    ],
)
def test_a_refusal_says_what_to_do(
    status: int, code: str, advice: str, scripted: ScriptedService, capsys: pytest.CaptureFixture[str]
) -> None:
    scripted.answers(f"POST {PATH}", status, problem(status, code))
    assert submit(scripted) == ExitCode.FAILURE
    written, complaint = capsys.readouterr()
    assert complaint.startswith(f"reme: {code}: So it is.")
    assert advice in complaint
    assert written == ""


@pytest.mark.parametrize(
    "body",
    [
        b"<html>",
        [],
        {},
        job_document(id="../../x"),
        job_document(status="odd"),
        job_document(progress=3),
        job_document(created_at="soon"),
    ],
)
def test_an_answer_that_is_no_job_is_no_service(
    body: Any, scripted: ScriptedService, capsys: pytest.CaptureFixture[str]
) -> None:
    scripted.answers(f"POST {PATH}", 202, body)
    assert submit(scripted) == ExitCode.UNREACHABLE
    written, complaint = capsys.readouterr()
    assert "is not a reme service (HTTP status 202; " in complaint
    assert written == ""


def test_a_failure_is_json_for_who_asked_for_json(
    scripted: ScriptedService, capsys: pytest.CaptureFixture[str]
) -> None:
    scripted.answers(f"POST {PATH}", 429, problem(429, "too_many_jobs"))
    assert submit(scripted, "output=json") == ExitCode.FAILURE
    assert json.loads(capsys.readouterr().err)["code"] == "too_many_jobs"


def test_a_wait_is_sent_with_all_its_digits(scripted: ScriptedService) -> None:
    scripted.answers(f"POST {PATH}", 202, job_document())
    assert submit(scripted, "start_within_seconds=299.99995") == ExitCode.PROPOSAL
    assert scripted.asked[0].path == f"{PATH}?start_within_seconds=299.99995"


def test_a_refused_key_of_the_query_is_named_as_it_was_written(
    scripted: ScriptedService, capsys: pytest.CaptureFixture[str]
) -> None:
    problems = [{"path": "query.start_within_seconds", "message": "must be at most 300"}]
    document = problem(422, "invalid_request", "query.start_within_seconds: must be at most 300", problems=problems)
    scripted.answers(f"POST {PATH}", 422, document)
    assert submit(scripted, "start_within_seconds=301") == ExitCode.FAILURE
    assert capsys.readouterr().err == "reme: invalid_request: start_within_seconds: must be at most 300\n"


@pytest.mark.parametrize(
    ("written", "sent"), [("@key.txt", "of a file"), ("@@key.txt", "@key.txt"), ("\\-", "-"), ("plain", "plain")]
)
def test_a_key_of_the_call_may_come_from_a_file_like_those_of_the_request(
    written: str, sent: str, scripted: ScriptedService, tmp_path: Path
) -> None:
    (tmp_path / "key.txt").write_text("of-a-file\n")
    scripted.answers(f"POST {PATH}", 202, job_document())
    assert submit(scripted, f"idempotency_key={written}") == ExitCode.PROPOSAL
    assert scripted.asked[0].headers["idempotency-key"] == sent.replace(" ", "-")
