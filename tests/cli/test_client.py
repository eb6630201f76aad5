import json
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from reme_compact.cli.address import Address
from reme_compact.cli.answer import proposal_of
from reme_compact.cli.client import call_service
from reme_compact.cli.usage import UsageError
from reme_compact.contract.errors import ReportedError, ServiceUnavailableError


def call(port: int, request: dict[str, Any] | None = None, *, timeout_seconds: float = 30) -> dict[str, Any]:
    address = Address("127.0.0.1", port)
    return ask(address, request or {}, timeout_seconds=timeout_seconds)


def ask(address: Address, request: dict[str, Any], *, timeout_seconds: float = 30) -> dict[str, Any]:
    answer = call_service(address, "POST", "/compact_context", request=request, timeout_seconds=timeout_seconds)
    return proposal_of(answer)


def test_the_request_is_posted_and_the_answer_returned(stand_in: Any, response: dict[str, Any]) -> None:
    stand_in.answers(200, response)
    request = {"goal": "größer \ud800", "messages": []}
    assert call(stand_in.port, request) == response
    assert stand_in.received == [("/compact_context", request)]


def test_proxies_of_the_environment_are_not_asked(
    stand_in: Any, response: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    stand_in.answers(200, response)
    assert call(stand_in.port) == response


def test_a_problem_document_keeps_its_fields(stand_in: Any) -> None:
    fields = {"code": "invalid_request", "error": "InvalidRequestError", "message": "m", "retryable": False}
    problems = [{"path": "messages", "message": "is required"}]
    stand_in.answers(422, {"type": "urn:x", "status": 422, **fields, "problems": problems})
    with pytest.raises(ReportedError) as caught:
        call(stand_in.port)
    assert caught.value.fields() == fields
    assert caught.value.extra() == {"problems": problems}


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, b"<html>hello</html>"),
        (200, b""),
        (200, b"\xff"),
        (200, b'"text"'),
        (200, b'{"answer": 1}'),
        (200, b'{"answer": "ok", "success": true, "metadata": {}}'),
        (200, b'{"answer": {"messages": [], "decisions": [{}]}, "success": true, "metadata": {}}'),
        (204, b""),
        (302, b"{}"),
        (404, b'{"detail": "Not Found"}'),
        (422, b'{"code": 1, "error": 2, "message": 3, "retryable": 4}'),
        (500, b"Internal Server Error"),
    ],
)
def test_an_answer_of_something_else_is_no_service(stand_in: Any, status: int, body: bytes) -> None:
    stand_in.answers(status, body)
    with pytest.raises(ServiceUnavailableError, match=f"not a reme service .HTTP status {status}.") as caught:
        call(stand_in.port)
    assert caught.value.message.splitlines()[-1].startswith("  reme start ")
    assert caught.value.retryable is False


def test_an_answer_that_is_almost_a_proposal_says_what_is_wrong(stand_in: Any, response: dict[str, Any]) -> None:
    response["answer"]["decisions"][0]["probability"] = "x"
    stand_in.answers(200, response)
    with pytest.raises(ServiceUnavailableError, match=r"HTTP status 200; answer\.decisions\[0\]\.probability: must be"):
        call(stand_in.port)


def test_statistics_may_have_any_shape(stand_in: Any, response: dict[str, Any]) -> None:
    response["answer"]["stats"] = [{"errors": 3}]
    stand_in.answers(200, response)
    assert call(stand_in.port) == response


def test_nobody_listening_says_how_to_start() -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        with pytest.raises(ServiceUnavailableError, match="No service answers at") as caught:
            call(reserved.getsockname()[1])
    assert caught.value.message.splitlines()[-1] == "  reme start config=decision_compaction"
    assert caught.value.retryable is True


@pytest.mark.parametrize(("cause", "retryable"), [(socket.EAI_NONAME, False), (socket.EAI_AGAIN, True)])
def test_a_host_that_cannot_be_found_is_worth_another_try_only_if_the_name_service_was_away(
    cause: int, retryable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look_up(*_: Any, **__: Any) -> None:
        raise socket.gaierror(cause, "Name lookup failed")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    with pytest.raises(ServiceUnavailableError, match="The host 'nowhere' cannot be found") as caught:
        ask(Address("nowhere", 80), {})
    assert caught.value.retryable is retryable
    assert "reme start" not in caught.value.message


def test_a_silent_service_is_given_up() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        with pytest.raises(ServiceUnavailableError, match=r"did not answer within 0\.2 seconds"):
            call(silent.getsockname()[1], timeout_seconds=0.2)


def test_an_impossible_host_is_a_mistake() -> None:
    with pytest.raises(UsageError, match=r"^host: "):
        ask(Address("a" * 70, 80), {})


@pytest.mark.parametrize(
    ("said", "named"),
    [
        (b"", "broke before an answer came"),
        (b"+PONG\r\n", "not a reme service .no HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n{", "broke before an answer came"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{", "broke before an answer came"),
        (b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 200 + b"\r\n", "not a reme service .no HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", "broke before an answer came"),
    ],
)
def test_a_conversation_that_goes_wrong(said: bytes, named: str) -> None:
    with socket.socket() as listener, ThreadPoolExecutor() as other_side:
        listener.bind(("127.0.0.1", 0))
        listener.listen()

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                while not connection.recv(65536).endswith(b"{}"):
                    pass
                connection.sendall(said)

        answered = other_side.submit(answer)
        with pytest.raises(ServiceUnavailableError, match=named):
            call(listener.getsockname()[1])
        answered.result()


def test_an_answer_without_end_is_given_up(
    stand_in: Any, response: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reme_compact.client.exchange.LONGEST_BODY", 1000)
    stand_in.answers(200, response)
    with pytest.raises(ServiceUnavailableError, match=r"not a reme service .no HTTP that can be read"):
        call(stand_in.port)


def test_a_bare_ipv6_address(response: dict[str, Any]) -> None:
    body = json.dumps(response).encode()
    with socket.socket(socket.AF_INET6) as listener, ThreadPoolExecutor() as other_side:
        try:
            listener.bind(("::1", 0))
        except OSError:
            pytest.skip("no IPv6 here")
        listener.listen()

        def answer() -> bytes:
            connection, _ = listener.accept()
            with connection:
                received = b""
                while not received.endswith(b"{}"):
                    received += connection.recv(65536)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
            return received

        received = other_side.submit(answer)
        port = listener.getsockname()[1]
        assert ask(Address("::1", port), {}) == response
        assert f"Host: [::1]:{port}".encode() in received.result()
