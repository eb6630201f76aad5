"""Where the service may listen."""

import errno
import socket
from typing import Any, cast

import pytest

from reme_compact.contract.errors import ConfigurationError
from reme_compact.service.binding import bind, is_reachable_by_others, url_of


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_loopback_is_bound_and_any_free_port_is_told(host: str) -> None:
    with bind(host, 0) as listener:
        port = listener.getsockname()[1]
        assert port > 0
        assert url_of(listener).startswith("http://127.0.0.")
        assert url_of(listener).endswith(f":{port}")
        with socket.create_connection(listener.getsockname()):
            pass


def resolving_to(*addresses: str) -> Any:
    def resolve(_: Any, port: int, **__: Any) -> list[Any]:
        families = [socket.AF_INET6 if ":" in address else socket.AF_INET for address in addresses]
        return [
            (family, socket.SOCK_STREAM, 6, "", (address, port))
            for family, address in zip(families, addresses, strict=True)
        ]

    return resolve


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.0.2.1", "::ffff:0.0.0.0"])
def test_anything_that_others_can_reach_is_refused_without_a_key(host: str) -> None:
    with pytest.raises(
        ConfigurationError, match=r"there is no API key\. Make one with `reme api_key name=NAME`"
    ) as caught:
        bind(host, 0)
    assert "service.api_keys" in caught.value.message
    assert is_reachable_by_others(host)


def test_with_a_key_others_may_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", resolving_to("127.0.0.1", "192.0.2.1"))
    with bind("both.example", 0, has_api_key=True) as listener:
        assert listener.getsockname()[0] == "127.0.0.1"


class Listening:
    def __init__(self, *name: Any) -> None:
        self.getsockname = lambda: name


@pytest.mark.parametrize(
    ("name", "url"),
    [
        (("0.0.0.0", 80), "http://127.0.0.1:80"),
        (("::", 80, 0, 0), "http://[::1]:80"),
        (("::1", 80, 0, 0), "http://[::1]:80"),
        (("192.0.2.1", 80), "http://192.0.2.1:80"),
        (("fe80::1%eth0", 80, 0, 2), "http://[fe80::1%eth0]:80"),
    ],
)
def test_the_url_is_one_that_can_be_called(name: tuple[Any, ...], url: str) -> None:
    assert url_of(cast("socket.socket", Listening(*name))) == url


def test_one_address_of_a_name_that_others_can_reach_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", resolving_to("127.0.0.1", "192.0.2.1"))
    with pytest.raises(ConfigurationError, match="can be reached from other machines"):
        bind("both.example", 0)
    assert is_reachable_by_others("both.example")


def test_of_several_addresses_one_of_ipv4_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", resolving_to("::1", "127.0.0.1", "127.0.0.2"))
    with bind("many.example", 0) as listener:
        assert listener.getsockname()[0] == "127.0.0.1"
    assert not is_reachable_by_others("many.example")


def test_a_host_that_cannot_be_found_counts_as_local() -> None:
    assert not is_reachable_by_others("a\0b")


def test_an_unknown_host_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(ConfigurationError, match=r"'nowhere\.invalid' is not a host"):
        bind("nowhere.invalid", 0)


@pytest.mark.parametrize("host", ["a" * 70 + ".invalid", "a\0b", "\0", "\ud800", "a" * 100_000, "[::1]", " "])
def test_a_host_that_cannot_be_a_name_is_refused(host: str) -> None:
    with pytest.raises(ConfigurationError, match="is not a host") as caught:
        bind(host, 0)
    assert len(caught.value.message) < 200


def test_a_kind_of_address_that_the_system_lacks_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def lacking(*_: Any) -> Any:
        raise OSError(errno.EAFNOSUPPORT, "Address family not supported by protocol")

    monkeypatch.setattr(socket, "socket", lacking)
    with pytest.raises(ConfigurationError, match="Address family not supported by protocol"):
        bind("127.0.0.1", 0)


def test_a_port_in_use_is_named() -> None:
    with bind("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with pytest.raises(ConfigurationError, match=f"port {port} on 127.0.0.1 is in use"):
            bind("127.0.0.1", port)


def test_ipv6_is_written_in_brackets() -> None:
    try:
        listener = bind("::1", 0)
    except ConfigurationError as error:
        pytest.skip(f"no IPv6 loopback here: {error}")
    with listener:
        assert url_of(listener) == f"http://[::1]:{listener.getsockname()[1]}"
