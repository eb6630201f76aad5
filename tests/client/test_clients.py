"""Both clients against services that refuse, fail, break off and come back."""

import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from job_streams import EVENTS, QUEUED, WHOLE
from scripted_service import JOB_ID, ScriptedService, job_document, problem

from reme_compact.client import ServiceError, ServiceUnreachableError, job_events
from reme_compact.contract.errors import (
    ArchiveDamagedError,
    JobNotFoundError,
    ReportedError,
    TooBusyError,
    UnauthorizedError,
)

JOB = f"GET /jobs/{JOB_ID}"
KEY = "reme_s3cret-s3cret-s3cret"
BUSY = problem(503, "too_busy", retryable=True)
REFERENCE = f"archive/{'a' * 32}/{'b' * 64}"
PIECE = {"ref": REFERENCE, "text": "abc", "offset": 0, "next_offset": None, "total_chars": 3, "complete": True}


def test_a_code_that_is_not_known_here_keeps_its_four_fields(to_script: Any, scripted: ScriptedService) -> None:
    scripted.answers(JOB, 418, problem(418, "newer_than_this", "New."))
    with pytest.raises(ServiceError) as caught:
        to_script().job(JOB_ID)
    fields = {"code": "newer_than_this", "error": "SomeError", "message": "New.", "retryable": False}
    assert caught.value.fields() == fields
    assert isinstance(caught.value, ReportedError)


@pytest.mark.parametrize(("api_key", "sent"), [(KEY, f"Bearer {KEY}"), (None, "Bearer of-the-environment"), ("", None)])
def test_the_key_is_sent(
    api_key: str | None, sent: str | None, to_script: Any, scripted: ScriptedService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REME_API_KEY", "of-the-environment")
    scripted.answers(JOB, 200, job_document())
    scripted.streams(EVENTS, *WHOLE)
    client = to_script(api_key=api_key)
    client.job(JOB_ID)
    list(client.events(JOB_ID))
    assert [asked.headers.get("authorization") for asked in scripted.asked] == [sent, sent]


@pytest.mark.parametrize("body", [problem(401, "unauthorized"), b"Unauthorized"], ids=["problem", "proxy"])
def test_a_refused_key(body: Any, to_script: Any, scripted: ScriptedService) -> None:
    scripted.answers(JOB, 401, body)
    with pytest.raises(UnauthorizedError) as caught:
        to_script(api_key=KEY).job(JOB_ID)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("status", "body"),
    [(200, b"<html>"), (200, b"[]"), (200, b"{}"), (302, b""), (404, b"Not Found"), (500, b"Internal Server Error")],
)
def test_an_answer_of_something_else_is_no_service(
    status: int, body: bytes, to_script: Any, scripted: ScriptedService
) -> None:
    for path in (JOB, f"{JOB}/result", EVENTS, "GET /jobs", "GET /ready", f"GET /{REFERENCE}", "POST /compact_context"):
        scripted.answers(path, status, body)
    client = to_script()
    for call in (
        lambda: client.job(JOB_ID),
        lambda: client.result(JOB_ID),
        lambda: list(client.events(JOB_ID)),
        lambda: list(client.jobs()),
        client.ready,
        lambda: client.recover(REFERENCE),
        lambda: client.compact_context(messages=[]),
    ):
        with pytest.raises(ServiceUnreachableError, match=r"is not a reme service .* check the address") as caught:
            call()
        assert not caught.value.retryable


def test_nobody_is_there(connect: Any) -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        client = connect(f"http://127.0.0.1:{reserved.getsockname()[1]}", retries=3)
        for call in (client.health, lambda: list(client.events(JOB_ID)), lambda: client.wait(JOB_ID)):
            with pytest.raises(ServiceUnreachableError, match="No service answers at") as caught:
                call()
            assert caught.value.retryable


def test_a_silent_service_is_given_up(connect: Any) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        client = connect(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout=0.2, retries=3)
        for call in (client.health, lambda: list(client.events(JOB_ID))):
            with pytest.raises(ServiceUnreachableError, match=r"did not answer within 0\.2 seconds"):
                call()


@pytest.mark.parametrize(
    ("said", "named"),
    [
        (b"", "broke before an answer came"),
        (b"HTTP/9 nonsense\r\n\r\n", "not a reme service .no HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", "broke before an answer came"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{", "broke before an answer came"),
    ],
)
def test_a_conversation_that_goes_wrong(said: bytes, named: str, connect: Any) -> None:
    with socket.socket() as listener, ThreadPoolExecutor() as other_side:
        listener.bind(("127.0.0.1", 0))
        listener.listen()

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(said)

        answered = other_side.submit(answer)
        with pytest.raises(ServiceUnreachableError, match=named):
            connect(f"http://127.0.0.1:{listener.getsockname()[1]}").health()
        answered.result()


def test_an_answer_may_end_with_its_connection(connect: Any) -> None:
    with socket.socket() as listener, ThreadPoolExecutor() as other_side:
        listener.bind(("127.0.0.1", 0))
        listener.listen()

        def answer() -> bytes:
            connection, _ = listener.accept()
            with connection:
                received = connection.recv(65536)
                connection.sendall(b'HTTP/1.1 200 OK\r\n\r\n{"status":"alive","version":"9","more":1}')
            return received

        received = other_side.submit(answer)
        port = listener.getsockname()[1]
        assert connect(f"http://127.0.0.1:{port}/reme/").health().version == "9"
        assert received.result().startswith(b"GET /reme/health HTTP/1.1\r\n")
        assert f"host: 127.0.0.1:{port}\r\n".encode() in received.result().lower()


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_service_is_asked_again_only_if_that_was_asked_for(
    status: int, to_script: Any, scripted: ScriptedService
) -> None:
    scripted.answers("POST /jobs/compact_context", status, BUSY, Retry_After="0")
    scripted.answers("POST /jobs/compact_context", status, BUSY, Retry_After="0")
    scripted.answers("POST /jobs/compact_context", 202, job_document())
    with pytest.raises(TooBusyError) as caught:
        to_script().submit(messages=[])
    assert caught.value.retryable
    assert to_script(retries=1).submit(messages=[]).id == JOB_ID
    assert len(scripted.asked) == 3


def test_retries_end(to_script: Any, scripted: ScriptedService) -> None:
    scripted.answers(JOB, 503, BUSY, Retry_After="0")
    with pytest.raises(TooBusyError):
        to_script(retries=2).job(JOB_ID)
    assert len(scripted.asked) == 3


@pytest.mark.parametrize("headers", [{}, {"Retry_After": "60"}, {"Retry_After": "soon"}], ids=["none", "later", "odd"])
def test_a_refusal_that_does_not_end_in_time_is_told_at_once(
    headers: dict[str, str], to_script: Any, scripted: ScriptedService
) -> None:
    scripted.answers(JOB, 503, BUSY, **headers)
    with pytest.raises(TooBusyError):
        to_script(retries=5, timeout=30).job(JOB_ID)
    assert len(scripted.asked) == 1


def breaks_off(handler: Any) -> None:
    handler.close_connection = True


@pytest.mark.parametrize("key", [None, "name"])
def test_a_lost_answer_is_asked_for_again_only_under_a_name(
    key: str | None, to_script: Any, scripted: ScriptedService
) -> None:
    scripted.script["POST /jobs/compact_context"] = [breaks_off]
    scripted.answers("POST /jobs/compact_context", 202, job_document())
    client = to_script(retries=1)
    if key is None:
        with pytest.raises(ServiceUnreachableError, match="broke before an answer came"):
            client.submit(messages=[])
    else:
        assert client.submit(messages=[], idempotency_key=key).id == JOB_ID
    assert {asked.headers.get("idempotency-key") for asked in scripted.asked} == {key}
    assert len(scripted.asked) == (1 if key is None else 2)


def test_a_service_that_is_not_ready_says_what_is_missing(to_script: Any, scripted: ScriptedService) -> None:
    missing = [{"part": "worker", "message": "Start one."}]
    model = {"backend": "local", "model": None}
    document = {"status": "degraded", "missing": missing, "decision_model": model, "last_request": None}
    scripted.answers("GET /ready", 503, document)
    ready = to_script(retries=3).ready()
    assert not ready.is_ready
    assert [part.part for part in ready.missing] == ["worker"]
    assert len(scripted.asked) == 1


@pytest.mark.usefixtures("no_waits")
@pytest.mark.parametrize("breaks", [True, False])
def test_events_go_on_after_the_last_one_seen(breaks: bool, to_script: Any, scripted: ScriptedService) -> None:
    scripted.streams(EVENTS, *WHOLE[:4], breaks=breaks)
    scripted.answers(EVENTS, 503, problem(503, "store_unavailable", retryable=True))
    scripted.streams(EVENTS, *WHOLE)
    events = list(to_script().events(JOB_ID))
    ids = [event.id for event in events]
    assert len(set(ids)) == len(ids)
    assert events[-1].type == "finished"
    resumed = [asked.headers.get("last-event-id") for asked in scripted.asked]
    assert resumed[0] is None
    assert len(set(resumed[1:])) == 1
    assert resumed[1] in ids


@pytest.mark.usefixtures("no_waits")
def test_a_job_that_is_gone_ends_the_events(to_script: Any, scripted: ScriptedService) -> None:
    scripted.streams(EVENTS, *WHOLE[:4], breaks=True)
    scripted.answers(EVENTS, 404, problem(404, "job_not_found"))
    with pytest.raises(JobNotFoundError):
        list(to_script().events(JOB_ID))
    assert len(scripted.asked) == 2


def test_a_failure_within_the_stream_is_a_typed_error(to_script: Any, scripted: ScriptedService) -> None:
    failure = {"code": "job_not_found", "error": "JobNotFoundError", "message": "Gone.", "retryable": False}
    scripted.streams(EVENTS, QUEUED, f"event: error\ndata: {json.dumps(failure)}\n\n".encode())
    events = to_script().events(JOB_ID)
    assert next(events).type == "queued"
    with pytest.raises(JobNotFoundError, match=r"^Gone\.$"):
        next(events)


@pytest.mark.usefixtures("no_waits")
def test_a_stream_that_falls_silent_is_opened_again(
    to_script: Any, scripted: ScriptedService, monkeypatch: pytest.MonkeyPatch
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
    scripted.streams(EVENTS, *WHOLE)
    try:
        assert list(to_script().events(JOB_ID))[-1].type == "finished"
    finally:
        release.set()
    assert len(scripted.asked) == 2


def test_an_original_that_is_another_is_not_returned(to_script: Any, scripted: ScriptedService) -> None:
    scripted.answers(f"GET /{REFERENCE}", 200, PIECE)
    client = to_script()
    assert client.recover(REFERENCE).text == "abc"
    with pytest.raises(ArchiveDamagedError):
        client.original(REFERENCE)
