"""`GET /health` and `GET /ready`: what a watcher asks."""

from importlib.metadata import version
from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from reme_compact.contract.errors import HostNotAllowedError
from reme_compact.service.answers import json_answer
from reme_compact.service.documented_failures import ANY_PATH, failures
from reme_compact.service.readiness import Liveness, Readiness, readiness
from reme_compact.service.state import ServiceState

_NOT_READY: dict[str, Any] = {
    "model": Readiness,
    "description": "A part is missing, or the last decision request failed.",
}


def status_routes(state: ServiceState) -> APIRouter:
    """Bind the paths to one service's state."""
    router = APIRouter(redirect_slashes=False)

    @router.get(
        "/health",
        operation_id="health",
        response_model=Liveness,
        responses=failures(HostNotAllowedError),
        summary="Is the process alive?",
    )
    async def health() -> Response:
        return json_answer(Liveness(version=version("reme-compact")).model_dump_json())

    @router.get(
        "/ready",
        operation_id="ready",
        response_model=Readiness,
        response_description="Every part is there, and the last decision request worked or none is known.",
        responses=failures(*ANY_PATH) | {503: _NOT_READY},
        summary="Is every part there, and did the decision model last work?",
    )
    async def ready() -> Response:
        now = await readiness(state)
        return json_answer(now.model_dump_json(), 200 if now.status == "ready" else 503)

    return router
