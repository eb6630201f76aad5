"""A client of the job API that knows when it submitted and when it saw the result."""

import http.client
import json
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Barrier
from typing import Any

HOST = "127.0.0.1"
_TIMEOUT_SECONDS = 300
_WAIT = {"Prefer": "wait=60"}


class JobError(Exception):
    """A job was refused, or did not succeed."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A job whose result was read.

    Attributes:
        seconds: from before it was submitted until its result was read.
        model_seconds: what the decision model said that it took, all requests together.
        requests: decision requests.
        finished: a reading of `time.perf_counter`.
    """

    seconds: float
    model_seconds: float
    requests: int
    finished: float


class JobClient:
    """Uses one connection to a service, as a host would; for one thread."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection(HOST, port, timeout=_TIMEOUT_SECONDS)

    def run(self, body: bytes) -> Seen:
        """Submit a job, wait for its end, and read its result.

        Raises:
            JobError: it was refused, or did not succeed.
        """
        began = time.perf_counter()
        job = self.submit(body, _WAIT)
        while job["status"] in {"queued", "running"}:
            # A service that was asked to wait answers after a minute at the latest.
            job = self.job(job["id"])
            time.sleep(0.05)
        return self.result(job, began)

    def submit(self, body: bytes, headers: dict[str, str] | None = None) -> dict[str, Any]:
        """Submit a job and return its document."""
        sent = {"Content-Type": "application/json", **(headers or {})}
        return self._json("POST", "/jobs/compact_context", body, sent)

    def job(self, job_id: str) -> dict[str, Any]:
        """Return the document of a job."""
        return self._json("GET", f"/jobs/{job_id}")

    def result(self, job: dict[str, Any], began: float) -> Seen:
        """Read the result of a job that succeeded."""
        if job["status"] != "succeeded":
            raise JobError(f"a job ended as {job['status']}: {job['error']}")
        content = self._read("GET", f"/jobs/{job['id']}/result")
        finished = time.perf_counter()
        stats = json.loads(content)["answer"]["stats"]
        model_seconds = sum(usage["seconds"] for usage in stats["usage"])
        return Seen(finished - began, model_seconds, stats["requests"], finished)

    def ready(self) -> bool:
        """Tell whether nothing is missing so that jobs are run."""
        self._connection.request("GET", "/ready")
        response = self._connection.getresponse()
        response.read()
        return response.status == http.client.OK

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _json(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self._read(method, path, body, headers))
        return document

    def _read(self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> bytes:
        self._connection.request(method, path, body, headers or {})
        response = self._connection.getresponse()
        content = response.read()
        if response.status not in {http.client.OK, http.client.ACCEPTED}:
            raise JobError(f"{method} {path} was answered with {response.status}: {content[:300]!r}")
        return content


def run_together(port: int, bodies: Sequence[bytes]) -> tuple[float, list[Seen]]:
    """Run jobs at once, each from a thread of its own; return the seconds until the last result was read."""
    ready = Barrier(len(bodies) + 1)

    def run(body: bytes) -> Seen:
        client = JobClient(port)
        ready.wait()
        try:
            return client.run(body)
        finally:
            client.close()

    with ThreadPoolExecutor(len(bodies)) as threads:
        running = [threads.submit(run, body) for body in bodies]
        ready.wait()
        began = time.perf_counter()
        seen = [job.result() for job in running]
    return max(job.finished for job in seen) - began, seen
