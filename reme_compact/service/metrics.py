"""What `/metrics` tells Prometheus: the requests, the store, and the jobs that this process runs."""

import time
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from reme_compact.contract.errors import StoreUnavailableError
from reme_compact.jobs.runner import MissingPart, Runner
from reme_compact.jobs.store import JobStore, StoreFigures
from reme_compact.service.job_metrics import REQUEST_BUCKETS, JobMetrics

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_OTHER = "other"
_NO_ANSWER = "none"

_Answer = TypeVar("_Answer")


class ServiceMetrics:
    """The metrics of one application.

    Attributes:
        jobs: counts the jobs that this process runs; null if workers run them, which have metrics of their own.
    """

    def __init__(self, *, runs_jobs: bool) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self.jobs = JobMetrics(self._registry) if runs_jobs else None
        self._store = _StoreCollector()
        self._registry.register(self._store)
        self._requests = Counter(
            "reme_http_requests", "Requests that were answered.", ["route", "method", "status"], registry=self._registry
        )
        self._latency = Histogram(
            "reme_http_response_start_seconds",
            "From the arrival of a request to the start of its answer.",
            ["route", "method"],
            buckets=REQUEST_BUCKETS,
            registry=self._registry,
        )

    def request_ended(self, scope: Scope, status: int | None, seconds: float | None) -> None:
        """Count a request.

        Args:
            scope: its scope, after it was routed.
            status: how it was answered; null: it was not.
            seconds: how long the answer took to start.
        """
        route = str(getattr(scope.get("route"), "path", _OTHER))
        method = scope["method"] if scope["method"] in _METHODS else _OTHER
        self._requests.labels(route, method, status or _NO_ANSWER).inc()
        if seconds is not None:
            self._latency.labels(route, method).observe(seconds)

    async def exposition(
        self, store: JobStore, runner: Runner, accept: str, *, missing: Callable[[], Awaitable[list[MissingPart]]]
    ) -> tuple[bytes, str]:
        """Return all metrics as text, and its media type.

        Args:
            store: is asked for its figures; that it cannot be reached is itself a metric.
            runner: is asked what waits.
            accept: the Accept header of the request.
            missing: tells what is missing.
        """
        figures = await _unless_unreachable(store.figures)
        waiting = await _unless_unreachable(runner.waiting)
        parts = await _unless_unreachable(missing)
        # Without an await from here on: another request must not change what this one shows.
        self._store.show(figures, waiting, parts)
        encode, media_type = choose_encoder(accept)
        text: bytes = encode(self._registry)
        return text, media_type


class MeasuredRequests:
    """ASGI middleware that counts and times requests."""

    def __init__(self, app: ASGIApp, metrics: ServiceMetrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        status: int | None = None
        seconds: float | None = None

        async def watch(message: Message) -> None:
            nonlocal status, seconds
            if message["type"] == "http.response.start":
                status, seconds = message["status"], time.perf_counter() - began
            await send(message)

        try:
            await self._app(scope, receive, watch)
        finally:
            self._metrics.request_ended(scope, status, seconds)


class _StoreCollector(Collector):
    """Shows what was last asked for; nothing is shown of what could not be learned."""

    def __init__(self) -> None:
        self._shown: list[Metric] = []

    def show(self, figures: StoreFigures | None, waiting: int | None, missing: list[MissingPart] | None) -> None:
        self._shown = [_gauge("reme_store_up", "Whether the store of jobs can be reached.", int(figures is not None))]
        if figures is not None:
            jobs = GaugeMetricFamily("reme_jobs", "Jobs that are kept, by their status.", labels=["status"])
            for status, number in figures.jobs.items():
                jobs.add_metric([status], number)
            stored = _gauge("reme_stored_bytes", "Requests and results that are kept.", figures.stored_bytes)
            self._shown += [jobs, stored]
        if waiting is not None:
            self._shown.append(_gauge("reme_jobs_waiting", "Jobs in the queue for a worker.", waiting))
        parts = GaugeMetricFamily(
            "reme_part_missing", "Parts without which jobs are not run, or not well.", labels=["part"]
        )
        for part in {found.part for found in missing or []}:
            parts.add_metric([part], 1)
        self._shown.append(parts)

    def collect(self) -> Iterator[Metric]:
        yield from self._shown


def _gauge(name: str, meaning: str, value: float) -> Metric:
    return GaugeMetricFamily(name, meaning, value=value)


async def _unless_unreachable(ask: Callable[[], Awaitable[_Answer]]) -> _Answer | None:
    try:
        return await ask()
    except StoreUnavailableError:
        return None
