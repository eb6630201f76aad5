"""What HTTP expects of every server, and the framework does not do."""

from http import HTTPStatus

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from reme_compact.service.problems import problem_of_http

_ESCAPED_SLASH = b"%2f"
_REFERENCES = b"/archive/"


class HeadLikeGet:
    """ASGI middleware that answers HEAD as GET would be answered, without the content."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return

        async def send_head(message: Message) -> None:
            """End the answer after its head, also where the content would have no end."""
            if message["type"] == "http.response.start":
                await send(message)
                await send({"type": "http.response.body", "body": b"", "more_body": False})

        as_get = {**scope, "method": "GET"}
        try:
            await self._app(as_get, receive, send_head)
        finally:
            scope.update({"route": as_get["route"]} if "route" in as_get else {})


class LiteralSlashes:
    """ASGI middleware that does not take an escaped slash for a separator.

    Only references hold slashes that a client may escape, and whatever follows `/archive/` is read as one of those.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "http" and _has_escaped_slash(scope):
            await problem_of_http(HTTPStatus.NOT_FOUND, "", None)(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def _has_escaped_slash(scope: Scope) -> bool:
    path: bytes = scope.get("raw_path", b"").removeprefix(scope.get("root_path", "").encode())
    return _ESCAPED_SLASH in path.lower() and not path.startswith(_REFERENCES)
