"""The paths that the service answers, put together."""

from fastapi import APIRouter

from reme_compact.service.archive_routes import archive_routes
from reme_compact.service.compaction_routes import compaction_routes
from reme_compact.service.documented_failures import ANY_PATH, failures
from reme_compact.service.job_routes import job_routes
from reme_compact.service.metrics import ServiceMetrics
from reme_compact.service.metrics_route import metrics_route
from reme_compact.service.state import ServiceState
from reme_compact.service.status_routes import status_routes


def build_router(state: ServiceState, metrics: ServiceMetrics) -> APIRouter:
    """Bind all paths to one service's state and metrics."""
    router = APIRouter(redirect_slashes=False)
    for part in (compaction_routes(state), job_routes(state), archive_routes(state), status_routes(state)):
        router.include_router(part)
    router.include_router(metrics_route(state, metrics), responses=failures(*ANY_PATH))
    return router
