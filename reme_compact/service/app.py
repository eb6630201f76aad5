"""The web application, for a server of your own or for embedding in another application."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import anyio
from fastapi import FastAPI
from starlette.middleware import Middleware

from reme_compact.presets.assemble import assemble_job
from reme_compact.presets.load import load_preset
from reme_compact.presets.schema import Preset
from reme_compact.service.background import run_again_and_again
from reme_compact.service.failures import HANDLERS, UnforeseenFailures
from reme_compact.service.openapi import DESCRIPTION, complete
from reme_compact.service.routes import build_router
from reme_compact.service.state import Clock, ServiceState, utc_now

if TYPE_CHECKING:
    from reme_compact.compaction.step import CompactContextStep

JOB = "compact_context"
_CLOSING_SECONDS = 5


def create_app(
    preset: Preset | None = None, step: "CompactContextStep | None" = None, *, clock: Clock = utc_now
) -> FastAPI:
    """Build the application.

    Args:
        preset: settings, and the job `compact_context` unless a step is given. Null: without a step, the preset
            `decision_compaction`; with one, the defaults.
        step: answers the requests; it is borrowed, so its owner closes it. Null: one is built from the preset
            when the application starts, and closed when it stops.
        clock: tells the time, with its zone.

    Raises:
        ConfigurationError: the default preset, with what the environment adds to it, is wrong.

    """
    if preset is None:
        preset = Preset() if step is not None else load_preset()
    state = ServiceState(preset=preset, clock=clock, ready_step=step)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with _running(state):
            yield

    app = _Application(
        title="reme-compact",
        version=version("reme-compact"),
        description=DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,  # the page would load its scripts from another host
        redoc_url=None,
        middleware=[Middleware(UnforeseenFailures)],
        exception_handlers=HANDLERS,
        redirect_slashes=False,
    )
    app.include_router(build_router(state))
    return app


class _Application(FastAPI):
    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI document, which is built once."""
        if self.openapi_schema is None:
            self.openapi_schema = complete(super().openapi())
        return self.openapi_schema


@asynccontextmanager
async def _running(state: ServiceState) -> AsyncIterator[None]:
    """Own the step and the background jobs while the application runs."""
    async with AsyncExitStack() as stack:
        if state.ready_step is None:
            # Imports a provider's SDK and reads its weights: the event loop must stay free to see a signal.
            state.ready_step = await anyio.to_thread.run_sync(_build_step, state.preset)
            stack.push_async_callback(_close_step, state)
        tasks = await stack.enter_async_context(anyio.create_task_group())
        stack.callback(tasks.cancel_scope.cancel)
        for settings in state.preset.background.values():
            if settings.enabled:
                tasks.start_soon(run_again_and_again, settings, state)
        yield


def _build_step(preset: Preset) -> "CompactContextStep":
    step: CompactContextStep = assemble_job(preset, JOB)
    return step


async def _close_step(state: ServiceState) -> None:
    step, state.ready_step = state.ready_step, None
    if step is not None:
        with anyio.move_on_after(_CLOSING_SECONDS, shield=True):
            await step.aclose()
