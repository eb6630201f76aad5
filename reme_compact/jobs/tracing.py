"""Shows jobs as OpenTelemetry spans: ids, counts and codes, never content.

`reme.job` is one run of a job; in it are `reme.plan` (the history is read), a `reme.batch` for every decision request,
and `reme.decide` (the proposal is made).
"""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import entry_points, version
from typing import TYPE_CHECKING, Any

from reme_compact.contract.errors import ConfigurationError, MissingExtraError
from reme_compact.contract.validation import short
from reme_compact.decision.outcome import BatchOutcome
from reme_compact.jobs.observation import RunEnd
from reme_compact.jobs.store import Sweep

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span
    from opentelemetry.trace import TracerProvider as AnyTracerProvider

_EXPORTERS = "opentelemetry_traces_exporter"
"""Entry points under which the SDK and its exporters register, by the names that OTEL_TRACES_EXPORTER may have."""


@dataclass(slots=True)
class _Run:
    """The open spans of one run of a job."""

    job: "Span"
    phase: "Span | None" = None

    def end_phase(self) -> None:
        if self.phase is not None:
            self.phase.end()
            self.phase = None


class TracingObserver:
    """A `JobObserver` that makes spans.

    Args:
        provider: makes the tracer; it is borrowed.
    """

    def __init__(self, provider: "AnyTracerProvider") -> None:
        from opentelemetry import trace  # noqa: PLC0415 - optional
        from opentelemetry.context import Context  # noqa: PLC0415

        self._trace = trace
        self._no_context = Context()
        self._tracer = provider.get_tracer("reme_compact", version("reme-compact"))
        self._runs: dict[str, _Run] = {}

    def job_started(self, job_id: str, *, attempt: int) -> None:
        """Open the span of a run."""
        attributes: dict[str, str | int] = {"reme.job.id": job_id, "reme.job.attempt": attempt}
        self._close(self._runs.pop(job_id, None), "lost")
        # A trace of its own: which request or job happens to make room for this one does not matter.
        run = _Run(self._tracer.start_span("reme.job", self._no_context, attributes=attributes))
        run.phase = self._child(run, "reme.plan")
        self._runs[job_id] = run

    def planned(self, job_id: str, *, candidates: int, asked: int, batches: int) -> None:
        """Close the span of planning."""
        if run := self._runs.get(job_id):
            counts = {"reme.candidates": candidates, "reme.asked": asked, "reme.batches": batches}
            run.job.set_attributes(counts)
            run.end_phase()

    def batch_scored(self, job_id: str, outcome: BatchOutcome) -> None:
        """Make the span of a decision request, which ended just now."""
        run = self._runs.get(job_id)
        if run is None:
            return
        now = time.time_ns()
        began = now - round((outcome.seconds or 0) * 1e9)
        span = self._child(run, "reme.batch", start_time=began)
        span.set_attribute("reme.verdicts", len(outcome.verdicts))
        if outcome.error is not None:
            span.set_attribute("error.type", outcome.error["code"])
            span.set_status(self._trace.StatusCode.ERROR)
        span.end(now)

    def deciding(self, job_id: str) -> None:
        """Open the span of making the proposal."""
        if run := self._runs.get(job_id):
            run.end_phase()
            run.phase = self._child(run, "reme.decide")

    def job_finished(self, job_id: str, end: RunEnd, *, seconds: float, proposal: Mapping[str, Any] | None) -> None:
        """Close the span of a run, and of what it was in the middle of."""
        del seconds, proposal
        self._close(self._runs.pop(job_id, None), end)

    def swept(self, sweep: Sweep) -> None:
        """Say nothing; metrics tell."""

    def _child(self, run: _Run, name: str, start_time: int | None = None) -> "Span":
        return self._tracer.start_span(name, self._trace.set_span_in_context(run.job), start_time=start_time)

    def _close(self, run: _Run | None, end: RunEnd) -> None:
        if run is None:
            return
        run.end_phase()
        run.job.set_attribute("reme.job.end", end)
        if end == "failed":
            run.job.set_status(self._trace.StatusCode.ERROR)
        run.job.end()


@contextmanager
def tracing() -> Iterator[TracingObserver]:
    """Send spans while the context is entered; leaving it sends what is left, which may take seconds.

    A process that set OpenTelemetry up itself gets the spans its own way. Otherwise the standard variables say where
    they go: OTEL_TRACES_EXPORTER (otlp, console, none or any that is installed), OTEL_EXPORTER_OTLP_* its address and
    protocol, OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES what the spans say of the service.

    Raises:
        MissingExtraError: OpenTelemetry is not installed.
        ConfigurationError: there is no such exporter.
    """
    try:
        from opentelemetry import trace  # noqa: PLC0415 - optional
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    except ModuleNotFoundError:
        raise MissingExtraError("service.tracing", "telemetry") from None
    existing = trace.get_tracer_provider()
    if isinstance(existing, TracerProvider):
        yield TracingObserver(existing)
        return
    provider = _build_provider()
    try:
        yield TracingObserver(provider)
    finally:
        provider.shutdown()


def _build_provider() -> "TracerProvider":
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - optional
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

    exporter = _build_exporter()
    name = os.environ.get("OTEL_SERVICE_NAME") or "reme-compact"
    provider = TracerProvider(resource=Resource.create({"service.name": name}))
    if exporter is not None:
        provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider


def _build_exporter() -> Any:
    name = os.environ.get("OTEL_TRACES_EXPORTER") or "otlp"
    if name == "none":
        return None
    if name == "otlp":
        protocol = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") or os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL")
        name = "otlp_proto_grpc" if protocol == "grpc" else "otlp_proto_http"
    found = list(entry_points(group=_EXPORTERS, name=name))
    if not found:
        known = ", ".join(sorted({point.name for point in entry_points(group=_EXPORTERS)} | {"none"}))
        raise ConfigurationError(f"OTEL_TRACES_EXPORTER: there is no exporter '{short(name)}'; installed are {known}.")
    return found[0].load()()
