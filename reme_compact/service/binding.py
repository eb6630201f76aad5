"""Take the address to listen on."""

import errno
import ipaddress
import socket
from dataclasses import dataclass

from reme_compact.contract.errors import ConfigurationError
from reme_compact.contract.validation import short

BACKLOG = 2048
"""Connections that may wait to be accepted."""


@dataclass(frozen=True, slots=True)
class _Address:
    family: socket.AddressFamily
    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        return ipaddress.ip_address(self.host.partition("%")[0]).is_loopback


def bind(host: str, port: int, *, has_api_key: bool = False) -> socket.socket:
    """Bind and listen; connections wait until somebody accepts them.

    Args:
        host: an address, or a name; of the addresses of a name one is taken, if possible one of IPv4.
        port: 0 takes any free port.
        has_api_key: requests need an API key, so others may reach the address.

    Raises:
        ConfigurationError: the host is unknown, others can reach it although no key is needed, or the port cannot be
            had.
    """
    addresses = _addresses(host, port)
    if not has_api_key and not all(address.is_loopback for address in addresses):
        raise ConfigurationError(
            f"service.host: '{short(host)}' can be reached from other machines, and there is no API key. Make one with "
            "`reme api_key name=NAME` and put the lines that it prints into the preset (service.api_keys), or listen "
            "on a loopback address (127.0.0.1, ::1, localhost)."
        )
    address = min(addresses, key=lambda candidate: candidate.family != socket.AF_INET)
    try:
        return _listen(address)
    except OSError as error:
        raise ConfigurationError(_refusal(short(host), port, error)) from None


def is_reachable_by_others(host: str) -> bool:
    """Tell whether a host has an address that is not loopback; one that cannot be found has none."""
    try:
        return not all(address.is_loopback for address in _addresses(host, 0))
    except ConfigurationError:
        return False


def url_of(listener: socket.socket) -> str:
    """Return an address that clients on this machine can use; for all addresses at once, that is the loopback one."""
    host, port = listener.getsockname()[:2]
    address = ipaddress.ip_address(host.partition("%")[0])
    if address.is_unspecified:
        host = "::1" if address.version == 6 else "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _listen(address: _Address) -> socket.socket:
    listener = socket.socket(address.family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address.host, address.port))
        listener.listen(BACKLOG)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener


def _addresses(host: str, port: int) -> list[_Address]:
    try:
        found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, ValueError):  # ValueError: what can be no name at all
        raise ConfigurationError(f"service.host: '{short(host)}' is not a host that can be found.") from None
    return [_Address(family, str(address[0]), port) for family, _, _, _, address in found]


def _refusal(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"service.port: port {port} on {host} is in use. Stop what listens there, choose another port "
            "(service.port=2334), or let the system choose (service.port=0)."
        )
    if error.errno == errno.EACCES:
        return f"service.port: port {port} needs privileges; choose one above 1023."
    return f"service.host: cannot listen on {host} port {port}: {error.strerror}."
