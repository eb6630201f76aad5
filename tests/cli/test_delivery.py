"""A job whose answer is lost on the way: one job all the same, or at least a way to find it."""

import json
import shlex
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from scripted_service import JOB_ID, ScriptedService, job_document, problem

from reme_compact.cli import delivery
from reme_compact.cli.exit_codes import ExitCode
from reme_compact.cli.main import main

MESSAGES = 'messages=[{"role":"user","content":[]}]'
PATH = "POST /jobs/compact_context"
REME = Path(sys.executable).with_name("reme")


def submit(scripted: ScriptedService, *words: str) -> int:
    return main(["submit", "compact_context", MESSAGES, "host=127.0.0.1", f"port={scripted.port}", *words])


def lose_the_answer(handler: Any) -> None:
    """Close the connection when the request has been read."""
    handler.close_connection = True


def keys(scripted: ScriptedService) -> list[str]:
    return [asked.headers["idempotency-key"] for asked in scripted.asked]


@pytest.mark.parametrize("word", [None, "idempotency_key=mine"])
def test_a_lost_answer_is_asked_for_again_under_the_same_name(
    word: str | None, scripted: ScriptedService, capsys: pytest.CaptureFixture[str]
) -> None:
    scripted.script[PATH] = [lose_the_answer]
    scripted.answers(PATH, 202, job_document(), Idempotency_Replayed="true")
    assert submit(scripted, *([word] if word else [])) == ExitCode.PROPOSAL
    assert capsys.readouterr() == (f"{JOB_ID}\n", "")
    first, second = keys(scripted)
    assert first == second
    assert scripted.asked[0].body == scripted.asked[1].body
    assert word is None or first == "mine"


def test_a_gateway_s_excuse_is_a_lost_answer(scripted: ScriptedService, capsys: pytest.CaptureFixture[str]) -> None:
    scripted.answers(PATH, 504, b"<html>")
    scripted.answers(PATH, 202, job_document())
    assert submit(scripted) == ExitCode.PROPOSAL
    assert capsys.readouterr().out == f"{JOB_ID}\n"


def test_two_calls_are_two_requests(scripted: ScriptedService) -> None:
    scripted.answers(PATH, 202, job_document())
    submit(scripted)
    submit(scripted)
    assert len(set(keys(scripted))) == 2


def test_an_answer_that_is_lost_twice_leaves_a_way_to_find_the_job(
    scripted: ScriptedService, capsys: pytest.CaptureFixture[str]
) -> None:
    scripted.script[PATH] = [lose_the_answer]
    assert submit(scripted) == ExitCode.UNREACHABLE
    written, complaint = capsys.readouterr()
    assert written == ""
    assert len(scripted.asked) == 2
    assert "The job may have been accepted all the same." in complaint
    assert f"  reme jobs host=127.0.0.1 port={scripted.port}\n" in complaint
    [key] = set(keys(scripted))
    assert shlex.split(complaint.splitlines()[-1]) == [f"idempotency_key={key}"]


def test_a_program_gets_the_name_as_a_field(scripted: ScriptedService, capsys: pytest.CaptureFixture[str]) -> None:
    scripted.script[PATH] = [lose_the_answer]
    assert submit(scripted, "output=json", "idempotency_key=@@it's") == ExitCode.UNREACHABLE
    failure = json.loads(capsys.readouterr().err)
    assert failure["idempotency_key"] == "@it's"
    assert (failure["code"], failure["error"]) == ("service_unreachable", "ServiceUnavailableError")
    assert shlex.split(failure["message"].splitlines()[-1]) == ["idempotency_key=@@it's"]


def test_a_refusal_of_the_second_try_says_nothing_about_the_first(
    scripted: ScriptedService, capsys: pytest.CaptureFixture[str]
) -> None:
    scripted.script[PATH] = [lose_the_answer]
    scripted.answers(PATH, 503, problem(503, "too_busy"))
    assert submit(scripted) == ExitCode.FAILURE
    assert "The job may have been accepted all the same." in capsys.readouterr().err


def test_a_call_that_took_all_its_time_is_not_made_again(
    scripted: ScriptedService, capsys: pytest.CaptureFixture[str]
) -> None:
    release = threading.Event()

    def wait(handler: Any) -> None:
        release.wait()
        handler.close_connection = True

    scripted.script[PATH] = [wait]
    assert submit(scripted, "timeout=0.2", "idempotency_key=k") == ExitCode.UNREACHABLE
    release.set()
    complaint = capsys.readouterr().err
    assert len(scripted.asked) == 1
    assert "did not answer within 0.2 seconds" in complaint
    assert complaint.endswith("\n    idempotency_key=k\n")


def test_a_service_that_is_not_there_has_accepted_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        words = ["host=127.0.0.1", f"port={reserved.getsockname()[1]}"]
        assert main(["submit", "compact_context", MESSAGES, *words]) == ExitCode.UNREACHABLE
    complaint = capsys.readouterr().err
    assert "No service answers at" in complaint
    assert "may have been accepted" not in complaint


def test_ctrl_c_while_waiting_says_how_to_find_the_job(
    scripted: ScriptedService, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(delivery, "call_jobs", interrupted)
    assert submit(scripted, "idempotency_key=k") == ExitCode.INTERRUPTED
    written, complaint = capsys.readouterr()
    assert written == ""
    assert complaint.startswith("reme: The job may have been accepted all the same.")
    assert complaint.endswith("\n  idempotency_key=k\n")


def test_the_process_does_so_too(scripted: ScriptedService) -> None:
    arrived, release = threading.Event(), threading.Event()

    def wait(handler: Any) -> None:
        arrived.set()
        release.wait()
        handler.close_connection = True

    scripted.script[PATH] = [wait]
    command = [str(REME), "submit", "compact_context", MESSAGES, "host=127.0.0.1", f"port={scripted.port}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:  # noqa: S603 - ours
        assert arrived.wait(30)
        process.send_signal(signal.SIGINT)
        written, complaint = process.communicate(timeout=30)
    release.set()
    assert (process.returncode, written) == (ExitCode.INTERRUPTED, b"")
    assert f"idempotency_key={keys(scripted)[0]}".encode() in complaint


@pytest.mark.parametrize("output", ["id", "json"])
def test_an_id_that_nobody_got_is_a_failure_that_tells_it(
    output: str, scripted: ScriptedService, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    scripted.answers(PATH, 202, job_document())
    monkeypatch.setattr(sys, "stdout", None)
    assert submit(scripted, f"output={output}") == ExitCode.FAILURE
    complaint = capsys.readouterr().err
    assert "Standard output cannot be written (it is closed)." in complaint
    assert f"its id is {JOB_ID}." in complaint
