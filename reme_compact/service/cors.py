"""Which web pages may use the service: those of `service.cors_origins`, by default none."""

import re
from collections.abc import Collection

from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from reme_compact.contract.errors import ConfigurationError, OriginNotAllowedError
from reme_compact.contract.validation import short
from reme_compact.service.problems import problem_of

ANY_ORIGIN = "*"
"""In `service.cors_origins`: every web page."""

METHODS = ("GET", "POST", "DELETE")
REQUEST_HEADERS = ("Authorization", "Content-Type", "Idempotency-Key", "Last-Event-ID", "Prefer")
EXPOSED_HEADERS = ("Idempotency-Replayed", "Location", "Preference-Applied", "Retry-After")

_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:[0-9]{1,5})?")
_HARMLESS = frozenset({"GET", "HEAD", "OPTIONS"})
_ONE_HOUR = 3600


class ForeignPages:
    """ASGI middleware that answers 403 to a web page from elsewhere that wants to change something.

    Browsers ask first before such a page may send JSON or DELETE, and get no permission; this does not rely on it.
    What a page from elsewhere only reads, its browser withholds from it.
    """

    def __init__(self, app: ASGIApp, allowed: Collection[str]) -> None:
        self._app = app
        self._allowed = allowed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "http" and scope["method"] not in _HARMLESS and not self._may(Headers(scope=scope)):
            error = OriginNotAllowedError(
                "A web page from elsewhere may not use this service. If it should, add its origin to "
                "service.cors_origins."
            )
            await problem_of(error)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _may(self, headers: Headers) -> bool:
        origins = headers.getlist("origin")
        if not origins:
            return True  # not a web page
        if ANY_ORIGIN in self._allowed:
            return True
        [origin, *others] = origins
        return not others and (origin in self._allowed or _is_of(headers.get("host", ""), origin))


def page_middleware(origins: Collection[str]) -> list[Middleware]:
    """Return the middlewares that admit the web pages of these origins and no others.

    Raises:
        ConfigurationError: an entry is no origin.
    """
    for origin in origins:
        if origin != ANY_ORIGIN and not _ORIGIN.fullmatch(origin):
            raise ConfigurationError(
                f"service.cors_origins: '{short(origin)}' is no origin; write scheme, host in lower case and port, "
                f"with nothing after them, as in https://example.org:8443, or '{ANY_ORIGIN}' for every page."
            )
    foreign = Middleware(ForeignPages, allowed=frozenset(origins))
    if not origins:
        return [foreign]
    permission = Middleware(
        CORSMiddleware,
        allow_origins=list(origins),
        allow_methods=METHODS,
        allow_headers=REQUEST_HEADERS,
        expose_headers=EXPOSED_HEADERS,
        max_age=_ONE_HOUR,
    )
    return [permission, foreign]


def _is_of(host: str, origin: str) -> bool:
    """Tell whether an origin is the service's own, by the Host header that was checked before."""
    return bool(host) and origin.lower() in {f"http://{host.lower()}", f"https://{host.lower()}"}
