"""How quickly `/health` answers while our service compacts a body of 60 MB."""

import http.client
import json
import threading
import time
from typing import Any

from benchmarks.histories import build_history
from benchmarks.services import HOST, ServiceError, post, running

_BODY_BYTES = 60_000_000
_SAMPLE_PAIRS = 200
_PAUSE_SECONDS = 0.01
_LONG_TIMEOUT_SECONDS = 600
_SEED = 1


def measure_large_body(chars: int) -> dict[str, Any]:
    """Post a history of 60 MB, ask for `/health` all the while, and return how long both took.

    The local model is asked, and no budget is set.

    Raises:
        ServiceError: the service did not start, or refused the body.
    """
    pairs, body = _body(chars)
    with running("ours") as service:
        _health_seconds(http.client.HTTPConnection(HOST, service.port))
        answer = _Posting(service.port, body)
        answer.start()
        waited = _watch_health(service.port, answer)
        peak = service.resident_bytes
    if answer.status != 200:
        raise ServiceError(f"a large body was answered with status {answer.status}")
    compacted = json.loads(answer.content)["answer"]
    return {
        "pairs": pairs,
        "chars": chars,
        "body_bytes": len(body),
        "answered_seconds": answer.seconds,
        "health_requests": len(waited),
        "slowest_health_seconds": max(waited),
        "resident_bytes_after": peak,
        "requests": compacted["stats"]["requests"],
        "previews": sum(decision["action"] == "preview" for decision in compacted["decisions"]),
    }


class _Posting(threading.Thread):
    """Posts the body and keeps what came back."""

    def __init__(self, port: int, body: bytes) -> None:
        super().__init__(daemon=True)
        self._port = port
        self._body = body
        self.status = 0
        self.content = b""
        self.seconds = 0.0

    def run(self) -> None:
        started = time.perf_counter()
        self.status, self.content = post(self._port, "/compact_context", self._body)
        self.seconds = time.perf_counter() - started


def _watch_health(port: int, answer: _Posting) -> list[float]:
    waited: list[float] = []
    connection = http.client.HTTPConnection(HOST, port, timeout=60)
    try:
        while answer.is_alive():
            waited.append(_health_seconds(connection))
            time.sleep(_PAUSE_SECONDS)
    finally:
        connection.close()
    return waited


def _health_seconds(connection: http.client.HTTPConnection) -> float:
    started = time.perf_counter()
    connection.request("GET", "/health")
    response = connection.getresponse()
    response.read()
    if response.status != 200:
        raise ServiceError(f"/health was answered with status {response.status}")
    return time.perf_counter() - started


def _body(chars: int) -> tuple[int, bytes]:
    """Return a request body of a little over 60 MB, and how many pairs that are."""
    sample = len(_request_body(_SAMPLE_PAIRS, chars)) / _SAMPLE_PAIRS
    pairs = int(_BODY_BYTES / sample) + 1
    return pairs, _request_body(pairs, chars)


def _request_body(pairs: int, chars: int) -> bytes:
    history = build_history(pairs, chars, "message_per_pair", _SEED)
    options = {"total_timeout_seconds": _LONG_TIMEOUT_SECONDS}
    return json.dumps(history.request(options), ensure_ascii=False, separators=(",", ":")).encode()
