"""Answer failures: typed ones by their table, the framework's own, and those that nobody foresaw."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from http import HTTPStatus
from typing import Any, cast

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import compile_path
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from reme_compact.contract.errors import FieldProblem, InvalidRequestError, ReMeError
from reme_compact.contract.exception_places import exception_places
from reme_compact.contract.validation import dotted
from reme_compact.service.disconnect import ClientGoneError
from reme_compact.service.problems import new_instance, problem_of, problem_of_bug, problem_of_http, problem_of_stop

logger = logging.getLogger(__name__)

CLIENT_CLOSED_REQUEST = 499
"""Hardly ever read, since a client that ended its side has mostly ended the other, too; some servers log it."""

_LEFT = (
    "The client ended its side of the connection, which gives up what it waits for. Keep it open, or submit a job "
    "(POST /jobs/compact_context) and come back for it."
)


async def _typed(_: Request, error: ReMeError) -> Response:
    return problem_of(error)


async def _from_framework(request: Request, error: HTTPException) -> Response:
    headers = dict(error.headers or {})
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        headers["Allow"] = _allowed_methods(request) or headers.get("Allow", "")
        if request.method == "OPTIONS":
            return Response(status_code=HTTPStatus.NO_CONTENT, headers=headers)
    return problem_of_http(error.status_code, error.detail, headers)


def _allowed_methods(request: Request) -> str | None:
    """List every method of a documented path; the framework names only those of the first route that has the path."""
    path = request.scope["path"].removeprefix(request.scope.get("root_path", ""))
    for template, operations in request.app.openapi()["paths"].items():
        pattern, _, _ = compile_path(template)
        if pattern.match(path):
            methods = [method.upper() for method in operations]
            return ", ".join([*methods, *(["HEAD"] if "GET" in methods else []), "OPTIONS"])
    return None


async def _from_validation(_: Request, error: RequestValidationError) -> Response:
    problems = [FieldProblem(path=dotted(item["loc"]), message=item["msg"]) for item in error.errors()]
    return problem_of(InvalidRequestError(problems))


async def _client_gone(_: Request, __: Exception) -> Response:
    return problem_of_http(CLIENT_CLOSED_REQUEST, _LEFT, None)


HANDLERS = cast(
    "dict[int | type[Exception], Callable[[Request, Any], Coroutine[Any, Any, Response]]]",
    {
        ReMeError: _typed,
        HTTPException: _from_framework,
        RequestValidationError: _from_validation,
        ClientDisconnect: _client_gone,
        ClientGoneError: _client_gone,
    },
)


class UnforeseenFailures:
    """ASGI middleware that answers and logs an exception which no handler knows.

    The framework's own handler would raise it again, and the server would then log its text, which may hold
    message content. Here only the place is logged. A request that the stopping service cancels is answered too.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        started = False

        async def watch(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, watch)
        except asyncio.CancelledError:
            if scope["type"] == "http" and not started:
                await problem_of_stop()(scope, receive, send)
            raise
        except Exception as error:
            if scope["type"] != "http" or started:
                raise
            instance = new_instance()
            logger.error("unforeseen failure", extra={"instance": instance, "exception": exception_places(error)})
            await problem_of_bug(instance)(scope, receive, send)
