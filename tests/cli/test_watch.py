import json
import socket
import sys
import threading
from typing import Any

import pytest
from job_streams import EVENTS, HALF, JOB, LINES, PLANNED, QUEUED, STARTED, WHOLE, sse
from scripted_service import JOB_ID, ScriptedService, job_document, problem

from reme_compact.cli.exit_codes import ExitCode
from reme_compact.cli.main import main
from reme_compact.client import following, job_events


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "WAITS", (0.0,) * 3)


def watch(scripted: ScriptedService, *words: str) -> int:
    if JOB not in scripted.script:
        scripted.answers(JOB, 200, job_document())
    return main(["watch", JOB_ID, "host=127.0.0.1", f"port={scripted.port}", *words])


def test_lines_where_there_is_no_terminal(scripted: ScriptedService, capsys: pytest.CaptureFixture[str]) -> None:
    scripted.streams(EVENTS, *WHOLE)
    assert watch(scripted) == ExitCode.PROPOSAL
    written, complaint = capsys.readouterr()
    assert written.splitlines() == LINES
    assert complaint == ""
    assert scripted.asked[-1].headers["accept"] == "text/event-stream"
    assert "last-event-id" not in scripted.asked[-1].headers


@pytest.mark.parametrize("size", [1, 7, 64])
def test_events_may_come_in_any_pieces(
    size: int, scripted: ScriptedService, capsys: pytest.CaptureFixture[str]
) -> None:
    stream = b": ping\n\n".join(WHOLE)
    scripted.streams(EVENTS, *(stream[at : at + size] for at in range(0, len(stream), size)))
    assert watch(scripted) == ExitCode.PROPOSAL
    assert capsys.readouterr().out.splitlines() == LINES


@pytest.mark.parametrize("status", ["failed", "cancelled", "timed_out"])
def test_any_other_end_is_a_failure(status: str, scripted: ScriptedService, capsys: pytest.CaptureFixture[str]) -> None:
    error = {"code": "x", "error": "X", "message": "grün\x1b[2J", "retryable": False}
    scripted.streams(EVENTS, QUEUED, sse(2, "finished", status=status, error=error))
    assert watch(scripted) == ExitCode.FAILURE
    assert capsys.readouterr().out.splitlines() == ["queued", rf"{status}: x: grün\x1b[2J"]


@pytest.mark.parametrize("part", [b"", HALF[:1], HALF[:20], HALF[:-1]])
def test_a_stream_that_breaks_in_the_middle_of_an_event_is_resumed_without_gap_or_repeat(
    part: bytes, scripted: ScriptedService, capsys: pytest.CaptureFixture[str]
) -> None:
    scripted.streams(EVENTS, QUEUED, STARTED, PLANNED, *([part] if part else []), breaks=True)
    scripted.streams(EVENTS, *WHOLE[3:])
    assert watch(scripted) == ExitCode.PROPOSAL
    written, complaint = capsys.readouterr()
    assert written.splitlines() == LINES
    assert complaint == "reme: the stream of events broke; trying again in 0 s\n"
    assert [asked.headers.get("last-event-id") for asked in scripted.asked[1:]] == [None, "3-0"]


@pytest.mark.parametrize("status", [502, 503, 504])
def test_a_gateway_whose_service_restarts_is_waited_for(
    status: int, scripted: ScriptedService, capsys: pytest.CaptureFixture[str]
) -> None:
    scripted.streams(EVENTS, QUEUED)
    scripted.answers(EVENTS, status, b"<html>")
    scripted.streams(EVENTS, *WHOLE[1:])
    assert watch(scripted) == ExitCode.PROPOSAL
    assert capsys.readouterr().out.splitlines() == LINES


def test_an_error_on_the_way_is_like_a_break(scripted: ScriptedService, capsys: pytest.CaptureFixture[str]) -> None:
    fields = {"code": "store_unavailable", "error": "StoreUnavailableError", "message": "Away.", "retryable": True}
    scripted.streams(EVENTS, QUEUED, f"event: error\ndata: {json.dumps(fields)}\n\n".encode())
    scripted.streams(EVENTS, *WHOLE[1:])
    assert watch(scripted) == ExitCode.PROPOSAL
    assert capsys.readouterr().out.splitlines() == LINES


def test_a_service_that_stays_away_is_given_up(scripted: ScriptedService, capsys: pytest.CaptureFixture[str]) -> None:
    scripted.streams(EVENTS, QUEUED)
    scripted.streams(EVENTS, breaks=True)
    assert watch(scripted) == ExitCode.UNREACHABLE
    complaint = capsys.readouterr().err
    assert complaint.count("trying again in") == 3
    assert f"The job may go on. To follow it again:\n    reme watch {JOB_ID} " in complaint


def test_a_job_that_ended_with_its_service_is_told(
    scripted: ScriptedService, capsys: pytest.CaptureFixture[str]
) -> None:
    scripted.streams(EVENTS, QUEUED, breaks=True)
    scripted.answers(EVENTS, 404, problem(404, "job_not_found"))
    assert watch(scripted) == ExitCode.FAILURE
    complaint = capsys.readouterr().err
    assert "the service was restarted, and kept its jobs in memory" in complaint
    assert "Submit the request again" in complaint


def test_a_service_that_stopped_is_said_to_have_stopped(
    scripted: ScriptedService, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(following, "WAITS", (0.0,) * 20)
    scripted.streams(EVENTS, QUEUED)
    [stream] = scripted.script[EVENTS]

    def stream_and_stop_listening(handler: Any) -> None:
        handler.server.socket.shutdown(socket.SHUT_RDWR)
        stream(handler)

    scripted.script[EVENTS] = [stream_and_stop_listening]
    assert watch(scripted) == ExitCode.UNREACHABLE
    complaint = capsys.readouterr().err
    assert complaint.count("nobody listens there any more; trying again") == following.REFUSALS_AT_MOST - 1
    assert f"The service at 127.0.0.1:{scripted.port} stopped before the job ended." in complaint
    assert "submit the request again" in complaint
    assert f"  reme watch {JOB_ID} host=127.0.0.1 port={scripted.port}\n" in complaint
    assert "reme start" not in complaint


@pytest.mark.parametrize(
    "pieces",
    [
        (b"event: planned\ndata: <html>\n\n",),
        (b"event: started\ndata: [1]\n\n",),
        (b"id: \xff\xfe\nevent: queued\ndata: {}\n\n",),
    ],
)
def test_garbage_instead_of_events_is_no_service(
    pieces: tuple[bytes, ...], scripted: ScriptedService, capsys: pytest.CaptureFixture[str]
) -> None:
    scripted.streams(EVENTS, *pieces)
    assert watch(scripted) == ExitCode.UNREACHABLE
    assert "is not a reme service (HTTP status 200; an event " in capsys.readouterr().err


def test_a_page_instead_of_events_is_no_service(scripted: ScriptedService, capsys: pytest.CaptureFixture[str]) -> None:
    scripted.streams(EVENTS, b"<html>", content_type="text/html")
    assert watch(scripted) == ExitCode.UNREACHABLE
    assert "no stream of events" in capsys.readouterr().err


def test_events_that_only_a_newer_service_knows_are_passed_over(
    scripted: ScriptedService, capsys: pytest.CaptureFixture[str]
) -> None:
    scripted.streams(EVENTS, QUEUED, sse(2, "archived"), b"data: hello\n\n", sse(3, "finished", status="succeeded"))
    assert watch(scripted) == ExitCode.PROPOSAL
    assert capsys.readouterr().out.splitlines() == ["queued", "succeeded"]


@pytest.mark.parametrize(
    ("code", "said"),
    [("job_not_found", "belongs to another API key"), ("job_expired", "Submit"), ("not_found", "has no jobs")],
)
def test_a_job_that_cannot_be_watched(
    code: str, said: str, scripted: ScriptedService, capsys: pytest.CaptureFixture[str]
) -> None:
    scripted.answers(JOB, 404, problem(404, code))
    assert watch(scripted) == ExitCode.FAILURE
    assert said in capsys.readouterr().err
    assert scripted.paths() == [JOB]


def test_a_job_without_a_worker_says_what_it_waits_for(
    scripted: ScriptedService, capsys: pytest.CaptureFixture[str]
) -> None:
    scripted.answers(JOB, 200, job_document(waiting_for="worker"))
    scripted.streams(EVENTS, *WHOLE)
    assert watch(scripted) == ExitCode.PROPOSAL
    assert "the job waits for a worker: none is there that could run it" in capsys.readouterr().err


def test_a_closed_standard_output_leaves_the_exit_code(
    scripted: ScriptedService, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted.streams(EVENTS, *WHOLE)
    monkeypatch.setattr(sys, "stdout", None)
    assert watch(scripted) == ExitCode.PROPOSAL


def test_a_service_that_falls_silent_is_asked_again(
    scripted: ScriptedService, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(job_events, "SILENCE_SECONDS", 0.2)
    release = threading.Event()

    def fall_silent(handler: Any) -> None:
        handler.send_response_only(200)
        handler.send_header("content-type", "text/event-stream")
        handler.end_headers()
        handler.wfile.write(QUEUED)
        release.wait()
        handler.close_connection = True

    scripted.script[EVENTS] = [fall_silent]
    scripted.streams(EVENTS, *WHOLE[1:])
    assert watch(scripted) == ExitCode.PROPOSAL
    release.set()
    written, complaint = capsys.readouterr()
    assert written.splitlines() == LINES
    assert "trying again" in complaint


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ([], "id: which job?"),
        (["x y"], "'x y' is not the id of a job"),
        ([JOB_ID, "output=json"], "output: unknown key"),
        ([JOB_ID, "--follow"], "there is no flag '--follow'"),
    ],
)
def test_a_mistake_is_explained(words: list[str], named: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", *words]) == ExitCode.USAGE
    assert named in capsys.readouterr().err
