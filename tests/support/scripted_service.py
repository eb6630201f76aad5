"""A service of the test's making: each method and path answers what it was told."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

JOB_ID = "019a0c6f2b1e-0123456789abcdef0123"


@dataclass(frozen=True)
class Asked:
    """One request that a scripted service got."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class ScriptedService:
    """A service that answers each method and path as it was told; the last answer to each is repeated."""

    port: int
    script: dict[str, list[Callable[[BaseHTTPRequestHandler], None]]] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)

    def answers(self, method_and_path: str, status: int, body: Any = None, **headers: str) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()

        def answer(handler: BaseHTTPRequestHandler) -> None:
            handler.send_response_only(status)
            handler.send_header("content-length", str(len(content)))
            for name, value in headers.items():
                handler.send_header(name.replace("_", "-"), value)
            handler.end_headers()
            handler.wfile.write(content)

        self.script.setdefault(method_and_path, []).append(answer)

    def streams(
        self, method_and_path: str, *pieces: bytes, breaks: bool = False, content_type: str = "text/event-stream"
    ) -> None:
        """Send pieces as chunks; `breaks`: close the connection without the last chunk."""

        def stream(handler: BaseHTTPRequestHandler) -> None:
            handler.send_response_only(200)
            handler.send_header("content-type", content_type)
            handler.send_header("transfer-encoding", "chunked")
            handler.end_headers()
            for piece in pieces:
                handler.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            if not breaks:
                handler.wfile.write(b"0\r\n\r\n")
            handler.close_connection = True

        self.script.setdefault(method_and_path, []).append(stream)

    def paths(self) -> list[str]:
        return [f"{asked.method} {asked.path}" for asked in self.asked]


@contextmanager
def scripted_service() -> Iterator[ScriptedService]:
    """Serve a script on a free port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            length = int(self.headers.get("content-length", "0"))
            headers = {name.lower(): value for name, value in self.headers.items()}
            service.asked.append(Asked(self.command, self.path, headers, self.rfile.read(length)))
            steps = service.script.get(f"{self.command} {self.path.partition('?')[0]}")
            if not steps:
                self.send_error(404)
                return
            (steps.pop(0) if len(steps) > 1 else steps[0])(self)

        do_POST = do_DELETE = do_GET  # noqa: N815 - names of the standard library

        def log_message(self, *_: object) -> None:
            """Stay silent."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        service = ScriptedService(port=server.server_address[1])
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield service
        server.shutdown()
        thread.join()


def job_document(**changes: Any) -> dict[str, Any]:
    """A job as a service describes it."""
    return {
        "id": JOB_ID,
        "job": "compact_context",
        "status": "queued",
        "progress": {"candidates": 0, "asked": 0, "scored": 0, "batches": 0, "batches_scored": 0},
        "waiting_for": None,
        "created_at": "2026-12-01T10:00:00Z",
        "started_at": None,
        "finished_at": None,
        "expires_at": None,
        "error": None,
        **changes,
    }


def problem(status: int, code: str, message: str = "So it is.", **extra: Any) -> dict[str, Any]:
    """A problem document."""
    fields = {"code": code, "error": "SomeError", "message": message, "retryable": False}
    return {"type": f"urn:x:{code}", "title": "t", "status": status, "detail": message, **fields, **extra}
