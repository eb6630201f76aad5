"""Who asks: API keys, and the middleware that turns away whoever has none."""

import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from reme_compact.contract.errors import ConfigurationError, UnauthorizedError
from reme_compact.contract.validation import short
from reme_compact.jobs.record import ANONYMOUS
from reme_compact.presets.schema import ApiKeySettings
from reme_compact.service.problems import problem_of

KEY_IN_SCOPE = "reme.key"
"""Where a request's scope holds its `ApiKey`."""

OPEN_PATHS = frozenset({"/health"})
"""Paths that never need a key: a watcher may ask whether the process is alive."""

KEY_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")

_REALM = 'Bearer realm="reme-compact"'


@dataclass(frozen=True, slots=True)
class ApiKey:
    """The key that a request came with; nothing of its secret.

    Attributes:
        name: owns the jobs that are made with it.
        administrator: sees and cancels the jobs of every key.
        max_active_jobs: unfinished jobs it may have at once; null: no limit of its own.
    """

    name: str
    administrator: bool = False
    max_active_jobs: int | None = None


NOBODY = ApiKey(ANONYMOUS)
"""The key of every request to a service without keys."""


class KnownKeys:
    """The keys of a preset.

    Raises:
        ConfigurationError: a name is not allowed, or two keys are the same.
    """

    def __init__(self, settings: Mapping[str, ApiKeySettings]) -> None:
        names_by_hash: dict[str, str] = {}
        for name, key in settings.items():
            _check_name(name)
            twin = names_by_hash.setdefault(key.sha256, name)
            if twin != name:
                raise ConfigurationError(
                    f"service.api_keys: '{twin}' and '{name}' are the same key; make one for each."
                )
        self._keys = [
            (key.sha256.encode(), ApiKey(name, key.administrator, key.max_active_jobs))
            for name, key in settings.items()
        ]

    def __bool__(self) -> bool:
        """Whether there is any key, so that requests need one."""
        return bool(self._keys)

    def find(self, secret: bytes) -> ApiKey | None:
        """Return the key with this secret. How long that takes tells nothing about the keys that there are."""
        digest = hashlib.sha256(secret).hexdigest().encode()
        found = None
        for known, key in self._keys:
            if hmac.compare_digest(known, digest):
                found = key
        return found


class Authentication:
    """ASGI middleware that lets a request through if it carries a known key, or if there are no keys."""

    def __init__(self, app: ASGIApp, keys: KnownKeys) -> None:
        self._app = app
        self._keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif not self._keys or _path(scope) in OPEN_PATHS:
            scope[KEY_IN_SCOPE] = NOBODY
            await self._app(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await self._serve(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        secret = _secret(Headers(scope=scope))
        key = self._keys.find(secret) if secret else None
        if key is not None:
            scope[KEY_IN_SCOPE] = key
            await self._app(scope, receive, send)
            return
        answer = problem_of(UnauthorizedError(_refusal(sent=secret is not None)))
        answer.headers["WWW-Authenticate"] = f'{_REALM}, error="invalid_token"' if secret is not None else _REALM
        await answer(scope, receive, send)


def _check_name(name: str) -> None:
    if not KEY_NAME.fullmatch(name):
        raise ConfigurationError(
            f"service.api_keys: '{short(name)}' cannot be the name of a key; use up to 64 of "
            "letters, digits, '-', '_' and '.'."
        )
    if name == ANONYMOUS:
        raise ConfigurationError(
            f"service.api_keys: the name '{ANONYMOUS}' means requests without a key; choose another."
        )


def _path(scope: Scope) -> str:
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


def _secret(headers: Headers) -> bytes | None:
    """Return what one `Authorization: Bearer` holds, empty if there is no telling; null: there is no such header."""
    values = headers.getlist("authorization")
    if not values:
        return None
    scheme, _, secret = values[0].strip().partition(" ")
    if len(values) > 1 or scheme.lower() != "bearer":
        return b""
    return secret.strip().encode("latin-1")


def _refusal(*, sent: bool) -> str:
    if sent:
        return "The API key is not known here. Send one that is, as the header Authorization: Bearer KEY."
    return "This service needs an API key. Send it as the header Authorization: Bearer KEY."
