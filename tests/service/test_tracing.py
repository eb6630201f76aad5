"""The spans of a job: what they are called, how they nest, and that they hold no content."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from models import always
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from reme_compact.compaction.step import CompactContextStep
from reme_compact.contract.errors import ConfigurationError, DecisionModelError, MissingExtraError
from reme_compact.decision.outcome import BatchOutcome
from reme_compact.jobs.tracing import TracingObserver, tracing
from reme_compact.presets.schema import Preset, ServiceSettings
from reme_compact.service.app import create_app

Connect = Callable[[FastAPI], AbstractAsyncContextManager[httpx.AsyncClient]]

TRACED = Preset(service=ServiceSettings(tracing=True))


@pytest.fixture
def provider() -> TracerProvider:
    return TracerProvider(shutdown_on_exit=False)


@pytest.fixture
def exporter(provider: TracerProvider) -> InMemorySpanExporter:
    exporter = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return exporter


def named(exporter: InMemorySpanExporter) -> dict[str, ReadableSpan]:
    spans = exporter.get_finished_spans()
    assert len({span.name for span in spans}) == len(spans)
    return {span.name: span for span in spans}


def attributes_of(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


@pytest.mark.anyio
async def test_a_job_is_one_trace_with_ids_and_counts(
    connect: Connect,
    shrinkable: dict[str, Any],
    provider: TracerProvider,
    exporter: InMemorySpanExporter,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    shrinkable["goal"] = "a confidential goal"
    async with connect(create_app(TRACED, CompactContextStep(as_decision_model=always(0.0)))) as client:
        answer = await client.post("/jobs/compact_context", json=shrinkable, headers={"Prefer": "wait=30"})
    spans = {name: span for name, span in named(exporter).items() if name.startswith("reme.")}
    assert set(spans) == {"reme.job", "reme.plan", "reme.batch", "reme.decide"}
    job = spans.pop("reme.job")
    assert job.parent is None
    assert attributes_of(job) == {
        "reme.job.id": answer.json()["id"],
        "reme.job.attempt": 1,
        "reme.candidates": 1,
        "reme.asked": 1,
        "reme.batches": 1,
        "reme.job.end": "succeeded",
    }
    assert job.status.status_code is StatusCode.UNSET
    for span in spans.values():
        assert span.parent is not None
        assert span.parent.span_id == job.context.span_id
        assert span.context.trace_id == job.context.trace_id
    assert attributes_of(spans["reme.batch"]) == {"reme.verdicts": 1}
    for text in (span.to_json() for span in exporter.get_finished_spans()):
        assert "confidential" not in text
        assert "icons/cart.svg" not in text


@pytest.mark.anyio
async def test_without_the_setting_there_are_no_spans_and_nothing_is_imported(
    connect: Connect,
    shrinkable: dict[str, Any],
    provider: TracerProvider,
    exporter: InMemorySpanExporter,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    async with connect(create_app(step=CompactContextStep(as_decision_model=always(0.0)))) as client:
        answer = await client.post("/compact_context", json=shrinkable)
    assert answer.status_code == 200
    assert exporter.get_finished_spans() == ()


@pytest.mark.anyio
async def test_a_missing_extra_stops_the_start(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    app = create_app(TRACED, CompactContextStep(as_decision_model=always(0.0)))
    with pytest.raises(MissingExtraError, match=r"reme-compact\[telemetry\]"):
        async with connect(app):
            raise AssertionError("it started")


def test_a_failed_batch_and_a_failed_job_are_errors_with_their_code(
    provider: TracerProvider, exporter: InMemorySpanExporter
) -> None:
    observer = TracingObserver(provider)
    observer.job_started("job", attempt=2)
    observer.planned("job", candidates=3, asked=2, batches=1)
    failure = DecisionModelError("a confidential text", code="rate_limited").fields()
    observer.batch_scored("job", BatchOutcome(error=failure, seconds=2.0))
    observer.job_finished("job", "failed", seconds=2, proposal=None)
    spans = named(exporter)
    batch, job = spans["reme.batch"], spans["reme.job"]
    assert attributes_of(batch)["error.type"] == "rate_limited"
    assert batch.status.status_code is job.status.status_code is StatusCode.ERROR
    assert batch.start_time is not None
    assert batch.end_time is not None
    assert batch.end_time - batch.start_time == 2_000_000_000
    assert attributes_of(job)["reme.job.attempt"] == 2
    assert "confidential" not in batch.to_json()


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_a_run_that_is_broken_off_anywhere_leaves_no_span_open(
    steps: int, provider: TracerProvider, exporter: InMemorySpanExporter
) -> None:
    observer = TracingObserver(provider)
    observer.job_started("job", attempt=1)
    if steps > 0:
        observer.planned("job", candidates=0, asked=0, batches=0)
    if steps > 1:
        observer.deciding("job")
    observer.job_finished("job", "cancelled", seconds=0, proposal=None)
    expected = {"reme.job", "reme.plan"} | ({"reme.decide"} if steps > 1 else set())
    assert set(named(exporter)) == expected
    assert attributes_of(named(exporter)["reme.job"])["reme.job.end"] == "cancelled"


def test_jobs_at_once_are_traces_of_their_own(provider: TracerProvider, exporter: InMemorySpanExporter) -> None:
    observer = TracingObserver(provider)
    for job_id in ("a", "b"):
        observer.job_started(job_id, attempt=1)
    for job_id in ("a", "b"):
        observer.planned(job_id, candidates=0, asked=0, batches=0)
        observer.job_finished(job_id, "succeeded", seconds=0, proposal=None)
    by_trace: dict[int, list[str]] = {}
    for span in exporter.get_finished_spans():
        by_trace.setdefault(span.context.trace_id, []).append(span.name)
    assert [sorted(names) for names in by_trace.values()] == [["reme.job", "reme.plan"]] * 2


def test_what_was_never_started_is_ignored(provider: TracerProvider, exporter: InMemorySpanExporter) -> None:
    observer = TracingObserver(provider)
    observer.planned("job", candidates=0, asked=0, batches=0)
    observer.batch_scored("job", BatchOutcome())
    observer.deciding("job")
    observer.job_finished("job", "lost", seconds=0, proposal=None)
    assert exporter.get_finished_spans() == ()


@pytest.fixture
def collector() -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    """A collector of spans on loopback: its address, and what it received."""
    received: list[tuple[str, bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append((self.path, self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Stay silent."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}", received
        server.shutdown()
        thread.join()


def test_spans_go_where_the_standard_variables_say_before_tracing_ends(
    collector: tuple[str, list[tuple[str, bytes]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    address, received = collector
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test-bed")
    with tracing() as observer:
        observer.job_started("job-1", attempt=1)
        observer.job_finished("job-1", "succeeded", seconds=0, proposal=None)
    [(path, spans)] = received
    assert path == "/v1/traces"
    for text in (b"reme.job", b"job-1", b"reme-compact", b"test-bed"):
        assert text in spans


def test_an_exporter_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "pigeon")
    with pytest.raises(ConfigurationError, match=r"no exporter 'pigeon'; installed are .*otlp"), tracing():
        raise AssertionError("it started")


def test_none_exports_nothing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "none")
    with tracing() as observer:
        observer.job_started("job", attempt=1)
        observer.job_finished("job", "succeeded", seconds=0, proposal=None)
    assert capsys.readouterr().out == ""
