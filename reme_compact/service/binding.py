"""Take the address to listen on."""

import errno
import ipaddress
import socket

from reme_compact.contract.errors import ConfigurationError
from reme_compact.contract.validation import short

_BACKLOG = 2048


def bind(host: str, port: int) -> socket.socket:
    """Bind and listen, on loopback only; connections wait until somebody accepts them.

    Args:
        host: a loopback address or a name that means only such addresses.
        port: 0 takes any free port.

    Raises:
        ConfigurationError: the host is unknown or not loopback, or the port cannot be had.

    """
    family, address = _loopback_address(host, port)
    try:
        return _listen(family, address)
    except OSError as error:
        raise ConfigurationError(_refusal(short(host), port, error)) from None


def url_of(listener: socket.socket) -> str:
    """Return the address that clients use."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _listen(family: socket.AddressFamily, address: tuple[str, int]) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener


def _loopback_address(host: str, port: int) -> tuple[socket.AddressFamily, tuple[str, int]]:
    try:
        found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, ValueError):  # ValueError: what can be no name at all
        raise ConfigurationError(f"service.host: '{short(host)}' is not a host that can be found.") from None
    addresses = [(family, (str(address[0]), port)) for family, _, _, _, address in found]
    if not all(ipaddress.ip_address(address[0].partition("%")[0]).is_loopback for _, address in addresses):
        raise ConfigurationError(
            f"service.host: '{short(host)}' can be reached from other machines, and this version has no API keys. "
            "Only loopback addresses (127.0.0.1, ::1, localhost) are supported."
        )
    return min(addresses, key=lambda candidate: candidate[0] != socket.AF_INET)


def _refusal(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"service.port: port {port} on {host} is in use. Stop what listens there, choose another port "
            "(service.port=2334), or let the system choose (service.port=0)."
        )
    if error.errno == errno.EACCES:
        return f"service.port: port {port} needs privileges; choose one above 1023."
    return f"service.host: cannot listen on {host} port {port}: {error.strerror}."
