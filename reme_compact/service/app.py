"""The web application, for a server of your own or for embedding in another application."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import anyio
from fastapi import FastAPI
from starlette.middleware import Middleware

from reme_compact.jobs.clock import Clock, utc_now
from reme_compact.jobs.deployment import build_deployment
from reme_compact.jobs.observation import Observers
from reme_compact.presets.load import load_preset
from reme_compact.presets.schema import Preset
from reme_compact.service.background import run_again_and_again
from reme_compact.service.failures import HANDLERS, UnforeseenFailures
from reme_compact.service.http_rules import HeadLikeGet, LiteralSlashes
from reme_compact.service.metrics import MeasuredRequests, ServiceMetrics
from reme_compact.service.observing import observing
from reme_compact.service.openapi import DESCRIPTION, complete
from reme_compact.service.protection import protection
from reme_compact.service.routes import build_router
from reme_compact.service.state import ServiceState
from reme_compact.tokens.estimate import estimate_tokens

if TYPE_CHECKING:
    from reme_compact.compaction.step import CompactContextStep


def create_app(
    preset: Preset | None = None, step: "CompactContextStep | None" = None, *, clock: Clock = utc_now
) -> FastAPI:
    """Build the application.

    Args:
        preset: settings, and the job `compact_context` unless a step is given. Null: without a step, the preset
            `decision_compaction`; with one, the defaults.
        step: makes the proposals; it is borrowed, so its owner closes it. Null: one is built from the preset
            when the application starts, and closed when it stops.
        clock: tells the time, with its zone.

    Raises:
        ConfigurationError: the default preset, with what the environment adds to it, is wrong, or so is something
            that only the service reads of a preset.

    """
    if preset is None:
        preset = Preset() if step is not None else load_preset()
    state = ServiceState(preset=preset, clock=clock, step=step)
    metrics = ServiceMetrics(runs_jobs=preset.execution.runner == "local")

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with _running(state, metrics):
            yield

    app = _Application(
        title="reme-compact",
        version=version("reme-compact"),
        description=DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,  # the page would load its scripts from another host
        redoc_url=None,
        middleware=[
            Middleware(MeasuredRequests, metrics=metrics),
            Middleware(UnforeseenFailures),
            *protection(preset.service),
            Middleware(LiteralSlashes),
            Middleware(HeadLikeGet),
        ],
        exception_handlers=HANDLERS,
        redirect_slashes=False,
        # The framework's log records hold the texts of exceptions, and those may hold message content.
        telemetry={"tracing": preset.service.tracing, "logs": False},
    )
    app.state.service = state
    app.include_router(build_router(state, metrics))
    return app


class _Application(FastAPI):
    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI document, which is built once."""
        if self.openapi_schema is None:
            service: ServiceState = self.state.service
            self.openapi_schema = complete(super().openapi(), needs_key=bool(service.preset.service.api_keys))
        return self.openapi_schema


@asynccontextmanager
async def _running(state: ServiceState, metrics: ServiceMetrics) -> AsyncIterator[None]:
    """Own the deployment and the background jobs while the application runs."""
    async with AsyncExitStack() as stack:
        watching = await stack.enter_async_context(observing(state.preset.service, metrics))
        observer = Observers(watching, state.archive_health)
        build = partial(build_deployment, state.preset, state.step, clock=state.clock, observer=observer)
        # May import Celery: the event loop must stay free to see a signal.
        deployment = await anyio.to_thread.run_sync(build)
        state.ready_deployment = await stack.enter_async_context(deployment)
        stack.callback(_stopped, state)
        state.stopping = anyio.Event()
        tasks = await stack.enter_async_context(anyio.create_task_group())
        stack.callback(tasks.cancel_scope.cancel)
        stack.callback(state.begin_stop)
        if metrics.jobs is not None:
            # Loads a library that the first job would load otherwise, with all others waiting.
            tasks.start_soon(anyio.to_thread.run_sync, estimate_tokens, "")
        for settings in state.preset.background.values():
            if settings.enabled:
                tasks.start_soon(run_again_and_again, settings, state)
        yield


def _stopped(state: ServiceState) -> None:
    state.ready_deployment = None
