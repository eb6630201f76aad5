"""Who watches the jobs that this process runs: metrics, and tracing if it is switched on."""

from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager

from anyio import move_on_after, to_thread

from reme_compact.jobs.observation import UNOBSERVED, JobObserver, Observers
from reme_compact.jobs.tracing import tracing
from reme_compact.presets.schema import ServiceSettings
from reme_compact.service.metrics import ServiceMetrics

_CLOSING_SECONDS = 5


@asynccontextmanager
async def observing(settings: ServiceSettings, metrics: ServiceMetrics) -> AsyncIterator[JobObserver]:
    """Give the observer for the runner of jobs.

    Raises:
        MissingExtraError: tracing is switched on and not installed.
        ConfigurationError: tracing is configured wrongly.
    """
    jobs: JobObserver = metrics.jobs or UNOBSERVED
    if not settings.tracing:
        yield jobs
        return
    stack = ExitStack()
    spans = await to_thread.run_sync(stack.enter_context, tracing())
    try:
        yield Observers(jobs, spans)
    finally:
        # Sends the last spans, over a network that may be down.
        with move_on_after(_CLOSING_SECONDS, shield=True):
            await to_thread.run_sync(stack.close, abandon_on_cancel=True)
