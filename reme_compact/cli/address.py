"""Where the service is: the address of a call, from arguments and the preset."""

from collections.abc import Callable
from typing import ClassVar

from reme_compact.cli.usage import UsageError
from reme_compact.client import address as client_address

_WILDCARDS = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - read, never bound


class Address(client_address.Address):
    """Where a service is, as a command line names it: by two keys."""

    __slots__ = ()
    named_host: ClassVar[str] = "host="
    named_whole: ClassVar[str] = "host= and port="


def find_address(host: str | None, port: str | None, configured: Callable[[], Address]) -> Address:
    """Combine what the caller gave with the configured default, which is looked up only when needed.

    Raises:
        UsageError: a host or a port that cannot be one.

    """
    checked_host = None if host is None else checked_host_of("host", host)
    checked_port = None if port is None else _check_port(port)
    if checked_host is not None and checked_port is not None:
        return Address(checked_host, checked_port)
    default = configured()
    return Address(checked_host or reachable(default.host), checked_port or default.port)


def reachable(host: str) -> str:
    """Return a host to call for a host that a service listens on, which may be a wildcard."""
    return _WILDCARDS.get(host, host)


def checked_host_of(key: str, host: str) -> str:
    """Return a host without the brackets of an IPv6 address.

    Raises:
        UsageError: it cannot be one; names the key.

    """
    if "://" in host or "/" in host:
        raise UsageError(f"{key}: give a name or an address alone, without http:// and without a path.")
    bare = host.removeprefix("[").removesuffix("]") if host.startswith("[") and host.endswith("]") else host
    name, colon, port = bare.rpartition(":")
    if colon and ":" not in name:
        beside = key.replace("host", "port")
        hint = f"{key}={name} {beside}={port}" if port.isdecimal() else f"{key}=NAME {beside}=NUMBER"
        raise UsageError(f"{key}: give the port on its own: {hint}.")
    if not bare or any(character.isspace() or not character.isprintable() for character in bare):
        raise UsageError(f"{key}: must be a name or an address.")
    return bare


def _check_port(port: str) -> int:
    if not (port.isascii() and port.isdecimal() and len(port) <= 5 and 1 <= int(port) <= 65535):
        raise UsageError("port: must be a whole number from 1 to 65535.")
    return int(port)
