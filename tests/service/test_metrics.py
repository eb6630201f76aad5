"""What `/metrics` tells, that it can be read, and that it moves."""

import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, cast

import httpx
import pytest
from fastapi import FastAPI
from models import ScriptedModel, always
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from reme_compact.compaction.step import CompactContextStep
from reme_compact.contract.errors import DecisionModelError, StoreUnavailableError
from reme_compact.decision.outcome import BatchOutcome
from reme_compact.jobs.log_context import current_job_id
from reme_compact.jobs.runner import MissingPart, Runner
from reme_compact.jobs.store import JobStore, StoreFigures, Sweep
from reme_compact.service.app import create_app
from reme_compact.service.job_metrics import JobMetrics
from reme_compact.service.metrics import ServiceMetrics

pytestmark = pytest.mark.anyio

Connect = Callable[[FastAPI], AbstractAsyncContextManager[httpx.AsyncClient]]


class Figures:
    """Samples by name and labels; 0 where there are none."""

    def __init__(self, text: str) -> None:
        self.families = list(text_string_to_metric_families(text))
        self._samples = {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in self.families
            for sample in family.samples
        }

    def __call__(self, name: str, /, **labels: str) -> float:
        return self._samples.get((name, frozenset(labels.items())), 0.0)

    def has(self, name: str) -> bool:
        return any(sample == name for sample, _ in self._samples)

    def label_values(self, name: str, label: str) -> set[str]:
        return {dict(labels)[label] for sample, labels in self._samples if sample == name}


async def figures_of(client: httpx.AsyncClient) -> Figures:
    answer = await client.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=")
    return Figures(answer.text)


async def test_a_job_moves_what_it_should(connect: Connect, shrinkable: dict[str, Any]) -> None:
    async with connect(create_app(step=CompactContextStep(as_decision_model=always(0.0)))) as client:
        before = await figures_of(client)
        answer = await client.post("/jobs/compact_context", json=shrinkable, headers={"Prefer": "wait=30"})
        assert answer.status_code == 200
        result = await client.get(f"/jobs/{answer.json()['id']}/result")
        figures = await figures_of(client)
    stats = result.json()["answer"]["stats"]
    saved = stats["chars_before"] - stats["chars_after"]
    assert saved > 0
    assert before("reme_jobs", status="succeeded") == 0
    assert figures("reme_jobs", status="succeeded") == 1
    assert figures("reme_jobs", status="running") == 0
    assert figures("reme_stored_bytes") > len(result.content)
    assert figures.has("reme_jobs_waiting")
    assert figures("reme_store_up") == 1
    assert figures("reme_job_runs_started_total") == 1
    assert figures("reme_jobs_finished_total", status="succeeded") == 1
    assert figures("reme_job_duration_seconds_count", status="succeeded") == 1
    assert figures("reme_batch_duration_seconds_count", outcome="answered") == 1
    assert figures("reme_decisions_total", action="preview", reason="low_relevance") == 1
    assert figures("reme_characters_saved_total") == saved
    route = {"route": "/jobs/compact_context", "method": "POST"}
    assert figures("reme_http_requests_total", **route, status="200") == 1
    assert figures("reme_http_response_start_seconds_count", **route) == 1
    assert figures.has("process_resident_memory_bytes")


async def test_errors_of_the_decision_model_are_counted_by_code(connect: Connect, shrinkable: dict[str, Any]) -> None:
    async def failing(_: Any, __: Any) -> Any:
        raise TimeoutError("a confidential text")

    async with connect(create_app(step=CompactContextStep(as_decision_model=failing))) as client:
        await client.post("/compact_context", json=shrinkable)
        answer = await client.get("/metrics")
    figures = Figures(answer.text)
    assert figures("reme_model_errors_total", code="provider_timeout") == 1
    assert figures("reme_batch_duration_seconds_count", outcome="failed") == 1
    assert figures("reme_decisions_total", action="keep", reason="model_error") == 1
    assert "confidential" not in answer.text


async def test_tokens_that_are_saved_are_counted(connect: Connect, shrinkable: dict[str, Any]) -> None:
    step = CompactContextStep(as_decision_model=always(0.0), token_counter="estimate")
    shrinkable["options"] = {**shrinkable.get("options", {}), "max_output_tokens": 300}
    async with connect(create_app(step=step)) as client:
        answer = await client.post("/compact_context", json=shrinkable)
        figures = await figures_of(client)
    stats = answer.json()["answer"]["stats"]
    assert figures("reme_tokens_saved_total") == stats["tokens_before"] - stats["tokens_after"] > 0


async def test_what_clients_choose_makes_no_new_series(connect: Connect) -> None:
    async with connect(create_app(step=CompactContextStep(as_decision_model=always(0.0)))) as client:
        for number in range(50):
            await client.get(f"/nowhere/{number}")
            await client.get(f"/jobs/{number}")
            await client.request(f"METHOD{number}", "/jobs")
            await client.get("/jobs", headers={"Host": f"host{number}.example"})
        figures = await figures_of(client)
    routes = figures.label_values("reme_http_requests_total", "route")
    assert routes <= {"/jobs", "/jobs/{job_id}", "/metrics", "other"}
    assert figures("reme_http_requests_total", route="other", method="GET", status="404") == 50
    assert figures("reme_http_requests_total", route="/jobs/{job_id}", method="GET", status="404") == 50
    assert figures("reme_http_requests_total", route="other", method="GET", status="421") == 50
    assert figures.label_values("reme_http_requests_total", "method") == {"GET", "other"}


async def test_an_unforeseen_failure_counts_as_500(
    scripted: Callable[..., Any], connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = scripted()

    def broken() -> Any:
        raise RuntimeError("a confidential text")

    async with connect(create_app(step=step.as_step)) as client:
        monkeypatch.setattr(step, "describe_decision_model", broken)
        assert (await client.get("/ready")).status_code == 500
        figures = await figures_of(client)
    assert figures("reme_http_requests_total", route="/ready", method="GET", status="500") == 1


async def test_applications_in_one_process_count_for_themselves(connect: Connect, shrinkable: dict[str, Any]) -> None:
    apps = [create_app(step=CompactContextStep(as_decision_model=always(0.0))) for _ in range(2)]
    async with connect(apps[0]) as first, connect(apps[1]) as second:
        await first.post("/compact_context", json=shrinkable)
        assert (await figures_of(first))("reme_job_runs_started_total") == 1
        assert (await figures_of(second))("reme_job_runs_started_total") == 0


async def test_every_name_is_ours_and_says_its_unit(connect: Connect) -> None:
    async with connect(create_app(step=CompactContextStep(as_decision_model=always(0.0)))) as client:
        figures = await figures_of(client)
    for family in figures.families:
        assert family.name.startswith(("reme_", "process_"))
        assert family.documentation
        if family.type == "histogram":
            assert family.name.endswith("_seconds")


class Distributed:
    """A store and a runner in one, as an API process sees them."""

    def __init__(self, *, is_up: bool = True) -> None:
        self.is_up = is_up

    async def figures(self) -> StoreFigures:
        self._check()
        return StoreFigures(jobs={"queued": 3, "running": 2}, stored_bytes=99)

    async def waiting(self) -> int | None:
        self._check()
        return 7

    async def missing(self) -> list[MissingPart]:
        return [MissingPart("jobs_worker", "Start one.")] if self.is_up else [MissingPart("store", "Start it.")]

    def _check(self) -> None:
        if not self.is_up:
            raise StoreUnavailableError("Redis cannot be reached.")


async def exposed(metrics: ServiceMetrics, parts: Distributed) -> Figures:
    text, _ = await metrics.exposition(cast("JobStore", parts), cast("Runner", parts), "", missing=parts.missing)
    return Figures(text.decode())


async def test_a_service_whose_workers_run_the_jobs_tells_what_the_store_knows() -> None:
    metrics = ServiceMetrics(runs_jobs=False)
    figures = await exposed(metrics, Distributed())
    assert metrics.jobs is None
    assert figures("reme_jobs", status="queued") == 3
    assert figures("reme_jobs_waiting") == 7
    assert figures("reme_stored_bytes") == 99
    assert figures("reme_part_missing", part="jobs_worker") == 1
    assert not figures.has("reme_job_runs_started_total")


async def test_a_store_that_cannot_be_reached_is_told_and_old_figures_are_not() -> None:
    metrics, parts = ServiceMetrics(runs_jobs=False), Distributed()
    assert (await exposed(metrics, parts))("reme_store_up") == 1
    parts.is_up = False
    figures = await exposed(metrics, parts)
    assert figures("reme_store_up") == 0
    assert figures("reme_part_missing", part="store") == 1
    assert not figures.has("reme_jobs")
    assert not figures.has("reme_jobs_waiting")


def read(registry: CollectorRegistry, name: str, **labels: str) -> float:
    return registry.get_sample_value(name, labels) or 0.0


def test_runs_that_do_not_end_their_job_are_told_apart() -> None:
    registry = CollectorRegistry()
    metrics = JobMetrics(registry)
    metrics.job_started("a", attempt=1)
    metrics.job_finished("a", "released", seconds=1, proposal=None)
    metrics.job_started("a", attempt=2)
    metrics.job_finished("a", "cancelled", seconds=2, proposal=None)
    assert read(registry, "reme_job_runs_started_total") == 2
    assert read(registry, "reme_job_runs_resumed_total") == 1
    assert read(registry, "reme_job_runs_left_total", end="released") == 1
    assert read(registry, "reme_jobs_finished_total", status="cancelled") == 1
    assert read(registry, "reme_job_duration_seconds_sum", status="cancelled") == 2


def test_what_the_sweeper_does_is_counted() -> None:
    registry = CollectorRegistry()
    metrics = JobMetrics(registry)
    for _ in range(2):
        metrics.swept(Sweep(timed_out=["a"], lapsed=["b", "c"], removed=5))
    found = {
        action: read(registry, "reme_sweeper_actions_total", action=action)
        for action in ("timed_out", "lapsed", "unclaimed", "removed")
    }
    assert found == {"timed_out": 2, "lapsed": 4, "unclaimed": 0, "removed": 10}
    assert read(registry, "reme_jobs_finished_total", status="timed_out") == 2


def test_codes_that_somebody_makes_up_are_one_series() -> None:
    registry = CollectorRegistry()
    metrics = JobMetrics(registry)
    for number in range(1000):
        metrics.batch_scored("a", BatchOutcome(error=DecisionModelError("", code=f"made_up_{number}").fields()))
    metrics.batch_scored("a", BatchOutcome(error=DecisionModelError("", code='a "secret"\n').fields()))
    [family] = [family for family in registry.collect() if family.name == "reme_model_errors"]
    codes = {sample.labels["code"] for sample in family.samples}
    assert "other" in codes
    assert len(codes) <= 31
    assert not any("secret" in code for code in codes)


async def test_lines_about_a_job_name_it(
    connect: Connect, shrinkable: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[str | None] = []

    def note(_: dict[str, Any]) -> None:
        seen.append(current_job_id())

    caplog.set_level(logging.DEBUG)
    async with connect(create_app(step=CompactContextStep(as_decision_model=ScriptedModel(note)))) as client:
        answer = await client.post("/jobs/compact_context", json=shrinkable, headers={"Prefer": "wait=30"})
    assert seen == [answer.json()["id"]]
    assert current_job_id() is None


async def test_a_decision_model_that_failed_is_a_missing_part_as_ready_says(
    connect: Connect, shrinkable: dict[str, Any]
) -> None:
    def fail(_: Any) -> Any:
        raise DecisionModelError("The provider refused.")

    model = ScriptedModel(fail)
    async with connect(create_app(step=CompactContextStep(as_decision_model=model))) as client:
        before = await figures_of(client)
        await client.post("/compact_context", json=shrinkable)
        ready = (await client.get("/ready")).json()
        after = await figures_of(client)
    assert [missing["part"] for missing in ready["missing"]] == ["decision_model"]
    assert before("reme_part_missing", part="decision_model") == 0
    assert after("reme_part_missing", part="decision_model") == 1
