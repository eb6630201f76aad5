"""`GET /metrics`: figures for Prometheus."""

from functools import partial

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from reme_compact.service.metrics import ServiceMetrics
from reme_compact.service.readiness import missing_parts
from reme_compact.service.state import ServiceState


def metrics_route(state: ServiceState, metrics: ServiceMetrics) -> APIRouter:
    """Bind the path to one service's state."""
    router = APIRouter(redirect_slashes=False)

    @router.get(
        "/metrics",
        operation_id="metrics",
        response_class=Response,
        responses={200: {"description": "Metrics in a text format.", "content": {"text/plain": {"schema": _TEXT}}}},
        summary="Figures for Prometheus",
    )
    async def read_metrics(request: Request) -> Response:
        deployment = state.deployment
        accept = request.headers.get("accept", "")
        text, media_type = await metrics.exposition(
            deployment.store, deployment.runner, accept, missing=partial(missing_parts, state)
        )
        return Response(text, media_type=media_type)

    return router


_TEXT = {"type": "string"}
