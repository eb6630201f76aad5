"""Answer only to one's own names, so that no web page can reach a local service under a name of its own.

A page from attacker.example can let that name point to 127.0.0.1 (DNS rebinding); its requests then count as of the
same origin, and only their Host header gives them away.
"""

import ipaddress
import re
from collections.abc import Iterable

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from reme_compact.contract.errors import ConfigurationError, HostNotAllowedError
from reme_compact.contract.validation import short
from reme_compact.presets.schema import ServiceSettings
from reme_compact.service.binding import is_reachable_by_others
from reme_compact.service.problems import problem_of

ANY_HOST = "*"
"""In `service.allowed_hosts`: answer to every name, for instance behind a proxy that checks them."""

_HOST = re.compile(r"(?:\[(?P<v6>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(?::[0-9]{0,5})?")
_LOOPBACK_NAME = "localhost"


class HostNames:
    """The names that a service answers to: loopback ones, the one it listens on, and the configured ones.

    Raises:
        ConfigurationError: an entry of `service.allowed_hosts` is no name.
    """

    def __init__(self, bound_to: str, allowed: Iterable[str]) -> None:
        self._any = ANY_HOST in allowed
        configured = [_configured(entry) for entry in allowed if entry != ANY_HOST]
        self._names = {_LOOPBACK_NAME, *configured}
        if bound_to and not _is_every_address(bound_to):
            self._names.add(_normal(bound_to))

    def include(self, header: str) -> bool:
        """Tell whether a Host header names this service; its port does not matter."""
        name = host_in(header)
        return name is not None and (self._any or name in self._names or _is_loopback(name))


class AllowedHosts:
    """ASGI middleware that answers 421 to requests for other hosts."""

    def __init__(self, app: ASGIApp, names: HostNames) -> None:
        self._app = app
        self._names = names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        hosts = Headers(scope=scope).getlist("host")
        if len(hosts) == 1 and self._names.include(hosts[0]):
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await problem_of(HostNotAllowedError(_refusal(hosts)))(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})


def host_names(settings: ServiceSettings) -> HostNames | None:
    """Return the names that the service answers to; null: it answers to every name.

    On an address that others can reach, names are only checked if some are configured: which ones lead there is
    known to nobody else.

    Raises:
        ConfigurationError: an entry of `service.allowed_hosts` is no name.
    """
    names = HostNames(settings.host, settings.allowed_hosts)
    return names if settings.allowed_hosts or not is_reachable_by_others(settings.host) else None


def host_in(header: str) -> str | None:
    """Return the name or address in a Host header, in lower case and without its port; null: it holds neither."""
    match = _HOST.fullmatch(header.strip(" \t"))
    return _normal(match["v6"] or match["name"]) if match else None


def _configured(entry: str) -> str:
    name = host_in(entry) or _normal_address(entry)
    if not name:
        raise ConfigurationError(
            f"service.allowed_hosts: '{short(entry)}' is no host name; write names as in the Host header "
            f"(compact.example.org), or '{ANY_HOST}' for every name."
        )
    return name


def _normal(name: str) -> str:
    return _normal_address(name) or name.lower().removesuffix(".")


def _normal_address(text: str) -> str | None:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return None


def _is_loopback(name: str) -> bool:
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _is_every_address(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def _refusal(hosts: list[str]) -> str:
    if len(hosts) != 1:
        return "The request must carry exactly one Host header."
    return (
        f"The service does not answer to the host '{short(hosts[0])}'. If it should, add that name to "
        "service.allowed_hosts."
    )
