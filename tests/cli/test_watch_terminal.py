import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from job_streams import DONE, EVENTS, JOB, LINES, PLANNED, QUEUED, STARTED, WHOLE, sse
from scripted_service import JOB_ID, ScriptedService, job_document, problem
from terminal import Terminal

from reme_compact.cli.exit_codes import ExitCode
from reme_compact.cli.main import main
from reme_compact.client import following

REME = Path(sys.executable).with_name("reme")


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "WAITS", (0.0,) * 3)


def watch(scripted: ScriptedService) -> int:
    if JOB not in scripted.script:
        scripted.answers(JOB, 200, job_document())
    return main(["watch", JOB_ID, "host=127.0.0.1", f"port={scripted.port}"])


def terminal(monkeypatch: pytest.MonkeyPatch, kind: str = "xterm") -> Terminal:
    monkeypatch.setenv("TERM", kind)
    monkeypatch.setenv("COLUMNS", "80")
    shown = Terminal()
    monkeypatch.setattr(sys, "stdout", shown)
    return shown


def test_a_terminal_gets_a_bar(scripted: ScriptedService, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = terminal(monkeypatch)
    failure = {"code": "rate_limited", "error": "E", "message": "[red]Too many[/red]", "retryable": False}
    failed = sse(5, "batch_scored", scored=4, asked=4, batches_scored=2, batches=2, error=failure)
    scripted.streams(EVENTS, *WHOLE[:4], failed, DONE)
    assert watch(scripted) == ExitCode.PROPOSAL
    text = shown.text()
    assert "4/4" in text
    assert "\x1b[" in text
    assert "a request failed, its results are kept: rate_limited: [red]Too many[/red]" in text
    assert text.endswith("succeeded\n")


def test_no_color_means_none(scripted: ScriptedService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    shown = terminal(monkeypatch)
    scripted.streams(EVENTS, *WHOLE)
    assert watch(scripted) == ExitCode.PROPOSAL
    assert "4/4" in shown.text()
    assert "\x1b[3" not in shown.text()
    assert "38;" not in shown.text()


@pytest.mark.parametrize("kind", ["dumb", ""])
def test_a_terminal_that_cannot_redraw_gets_lines(
    kind: str, scripted: ScriptedService, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = terminal(monkeypatch, kind)
    scripted.streams(EVENTS, *WHOLE)
    assert watch(scripted) == ExitCode.PROPOSAL
    assert shown.text().splitlines() == LINES


def test_a_terminal_without_rich_gets_lines(scripted: ScriptedService, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = terminal(monkeypatch)
    monkeypatch.setattr("reme_compact.cli.watch_lines.find_spec", lambda _: None)
    scripted.streams(EVENTS, *WHOLE)
    assert watch(scripted) == ExitCode.PROPOSAL
    assert shown.text().splitlines() == LINES


def test_a_failed_bar_leaves_the_terminal_usable(scripted: ScriptedService, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = terminal(monkeypatch)
    scripted.streams(EVENTS, QUEUED)
    scripted.answers(EVENTS, 404, problem(404, "job_not_found"))
    assert watch(scripted) == ExitCode.FAILURE
    assert shown.text().rindex("\x1b[?25h") > shown.text().rindex("\x1b[?25l")  # the cursor is back


@pytest.fixture
def endless(scripted: ScriptedService) -> Callable[..., Any]:
    """A job that has started and does not end before the test does."""
    scripted.answers(JOB, 200, job_document())
    release = threading.Event()

    def stream(handler: Any) -> None:
        handler.send_response_only(200)
        handler.send_header("content-type", "text/event-stream")
        handler.end_headers()
        handler.wfile.write(QUEUED + STARTED)
        release.wait()
        handler.wfile.write(PLANNED)
        handler.close_connection = True

    scripted.script[EVENTS] = [stream]
    return release.set


def start(scripted: ScriptedService) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 - our own program
        [REME, "watch", JOB_ID, "host=127.0.0.1", f"port={scripted.port}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "NO_COLOR": "1"},
    )


def test_ctrl_c_leaves_the_job_alone_and_says_so(scripted: ScriptedService, endless: Callable[[], None]) -> None:
    with start(scripted) as process:
        assert process.stdout is not None
        assert [process.stdout.readline(), process.stdout.readline()] == [b"queued\n", b"started\n"]
        process.send_signal(signal.SIGINT)
        _, complaint = process.communicate(timeout=60)
    endless()
    assert process.returncode == ExitCode.INTERRUPTED
    lines = complaint.decode().splitlines()
    assert lines[0] == "reme: the job goes on. To follow it again, or to end it:"
    assert lines[1].startswith(f"  reme watch {JOB_ID} host=127.0.0.1 port=")
    assert lines[2].startswith(f"  reme cancel {JOB_ID} host=127.0.0.1 port=")
    assert {asked.method for asked in scripted.asked} == {"GET"}


def test_a_reader_that_stops_ends_the_watching_without_claiming_success(
    scripted: ScriptedService, endless: Callable[[], None]
) -> None:
    with start(scripted) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"queued\n"
        process.stdout.close()
        endless()
        complaint = process.stderr.read()
    assert (process.returncode, complaint) == (ExitCode.FAILURE, b"")
