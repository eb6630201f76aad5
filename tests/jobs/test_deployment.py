"""Which deployment a preset means, and what an embedded one builds, lends and closes."""

import importlib
import threading
from typing import Any

import pytest
from clocks import ManualClock
from execution_models import body_of, request_of
from models import always

from reme_compact import CompactContextStep, ConfigurationError, MissingExtraError
from reme_compact.jobs import deployment as deployments
from reme_compact.jobs.deployment import Deployment, EmbeddedDeployment, build_deployment, store_limits
from reme_compact.jobs.intake import accept
from reme_compact.jobs.observation import UNOBSERVED
from reme_compact.jobs.waiting import wait_until_final
from reme_compact.presets.schema import ExecutionSettings, Preset

pytestmark = pytest.mark.anyio

DISTRIBUTED = Preset(execution=ExecutionSettings(runner="celery"))


class Owned:
    """A decision model that belongs to whoever built it."""

    backend = "owned"
    model_name: str | None = None

    def __init__(self) -> None:
        self.closed = 0

    async def __call__(self, state: Any, questions: Any) -> Any:
        return await always(0.0)(state, questions)

    async def aclose(self) -> None:
        self.closed += 1


async def run_one(deployment: Deployment) -> str:
    request = request_of(1)
    accepted = await accept(
        deployment, ExecutionSettings(), job="compact_context", owner="anna", request=request, body=body_of(request)
    )
    return (await wait_until_final(deployment.store, accepted.document.id, "anna", 30)).status


async def test_a_borrowed_step_is_used_and_left_open() -> None:
    model = Owned()
    step = CompactContextStep(as_decision_model=model, owns_decision_model=True)
    async with build_deployment(Preset(), step) as deployment:
        assert isinstance(deployment, EmbeddedDeployment)
        assert deployment.step is step
        assert await deployment.last_decision_request() is None
        assert await run_one(deployment) == "succeeded"
        last = await deployment.last_decision_request()
        assert last is not None
        assert last.worked
        assert deployment.describe_decision_model() == {"backend": "owned", "model": None}
    assert model.closed == 0
    await step.aclose()
    assert model.closed == 1


async def test_a_step_is_built_beside_the_event_loop_and_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Owned()
    built: list[tuple[int, str]] = []

    def build(preset: Preset, job: str) -> CompactContextStep:
        built.append((threading.get_ident(), job))
        return CompactContextStep(as_decision_model=model, owns_decision_model=True)

    monkeypatch.setattr(deployments, "assemble_job", build)
    deployment = build_deployment(Preset())
    assert not built
    for entered in (1, 2):
        async with deployment:
            assert await run_one(deployment) == "succeeded"
            assert model.closed == entered - 1
        assert model.closed == entered
    assert [job for _, job in built] == ["compact_context"] * 2
    assert threading.get_ident() not in {thread for thread, _ in built}


async def test_a_step_that_cannot_be_built_stops_the_start() -> None:
    with pytest.raises(ConfigurationError, match="compact_context"):
        await build_deployment(Preset()).__aenter__()


async def test_before_it_is_entered_a_deployment_says_so() -> None:
    deployment = build_deployment(Preset())
    with pytest.raises(ConfigurationError, match="not started"):
        _ = deployment.runner
    with pytest.raises(ConfigurationError, match="not started"):
        deployment.describe_decision_model()


async def test_jobs_in_memory_keep_to_the_clock_that_was_given() -> None:
    clock = ManualClock()
    async with build_deployment(Preset(), CompactContextStep(as_decision_model=always(0.0)), clock=clock) as deployment:
        await run_one(deployment)
        (job,) = (await deployment.store.page(None, status=None, cursor=None, limit=10)).jobs
        assert job.created_at == clock()


def test_a_store_takes_what_the_settings_say() -> None:
    settings = ExecutionSettings(max_active_jobs=1, max_stored_bytes=2, results_expire_after_seconds=3, lease_seconds=4)
    limits = store_limits(settings)
    assert (limits.max_active_jobs, limits.max_stored_bytes) == (1, 2)
    assert (limits.results_expire_after_seconds, limits.lease_seconds) == (3, 4)


def test_workers_build_their_own_steps() -> None:
    with pytest.raises(ConfigurationError, match="pass none"):
        build_deployment(DISTRIBUTED, CompactContextStep(as_decision_model=always(0.0)))


@pytest.mark.parametrize("package", ["celery", "redis", "kombu.utils"])
def test_without_celery_or_redis_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    def fail(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)

    monkeypatch.setattr(importlib, "import_module", fail)
    with pytest.raises(MissingExtraError, match=r"reme-compact\[distributed\]"):
        build_deployment(DISTRIBUTED)


def test_any_other_missing_module_is_a_fault_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str) -> None:
        raise ModuleNotFoundError("No module named 'typo'", name="typo")

    monkeypatch.setattr(importlib, "import_module", fail)
    with pytest.raises(ModuleNotFoundError):
        build_deployment(DISTRIBUTED)


def test_the_distributed_deployment_is_built_by_its_own_package(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[Any] = []

    class Module:
        @staticmethod
        def build(preset: Preset, clock: Any, observer: Any) -> str:
            built.append((preset, clock, observer))
            return "a deployment"

    monkeypatch.setattr(importlib, "import_module", {"reme_workers.deployment": Module}.__getitem__)
    clock = ManualClock()
    assert build_deployment(DISTRIBUTED, clock=clock) == "a deployment"  # type: ignore[comparison-overlap]
    assert built == [(DISTRIBUTED, clock, UNOBSERVED)]
