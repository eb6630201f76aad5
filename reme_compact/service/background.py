"""What the service does on its own, again and again."""

import logging
from collections.abc import Awaitable, Callable
from typing import Literal, TypeAlias

import anyio

from reme_compact.jobs.deployment import EmbeddedDeployment
from reme_compact.presets.schema import BackgroundJobSettings
from reme_compact.service.state import ServiceState

logger = logging.getLogger(__name__)

BackgroundJob: TypeAlias = Callable[[ServiceState], Awaitable[None]]
Sleep: TypeAlias = Callable[[float], Awaitable[None]]


async def expire_health(state: ServiceState) -> None:
    """Forget an outcome of the decision model that is too old to say anything about now.

    What workers learn of their decision model is kept where it expires by itself.
    """
    seconds = state.preset.health.outcome_expires_after_seconds
    deployment = state.deployment
    if isinstance(deployment, EmbeddedDeployment) and deployment.step.health.expire(state.clock(), seconds):
        logger.debug("outcome of the decision model forgotten", extra={"older_than_seconds": seconds})


JOBS: dict[Literal["expire_health"], BackgroundJob] = {"expire_health": expire_health}


async def run_again_and_again(settings: BackgroundJobSettings, state: ServiceState, sleep: Sleep = anyio.sleep) -> None:
    """Run one background job at its interval until it is cancelled; a failing run is logged and not the last."""
    while True:
        await sleep(settings.every_seconds)
        try:
            await JOBS[settings.job](state)
        except Exception:
            logger.exception("background job failed", extra={"job": settings.job})
