"""Which Host headers are answered, so that no foreign name leads to a local service."""

from typing import Any

import anyio
import httpx
import pytest
from starlette.types import Receive, Scope, Send

from reme_compact.contract.errors import ConfigurationError
from reme_compact.presets.schema import ServiceSettings
from reme_compact.service.allowed_hosts import AllowedHosts, host_names

pytestmark = pytest.mark.anyio


async def inner(_: Scope, __: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def include(settings: ServiceSettings, header: str) -> bool:
    names = host_names(settings)
    return names is None or names.include(header)


LOCAL = ServiceSettings()


@pytest.mark.parametrize(
    "header",
    [
        "localhost",
        "LocalHost:2333",
        "localhost.:80",
        "127.0.0.1",
        "127.0.0.1:1",
        "127.8.9.1:65535",
        "[::1]",
        "[::1]:2333",
    ],
)
def test_loopback_names_are_answered_on_any_port(header: str) -> None:
    assert include(LOCAL, header)


@pytest.mark.parametrize(
    "header",
    [
        "attacker.example",
        "attacker.example:2333",
        "localhost.attacker.example",
        "127.0.0.1.attacker.example",
        "attacker.localhost",
        "0.0.0.0",
        "0.0.0.0:2333",
        "[::]:2333",
        "192.0.2.1",
        "[2001:db8::1]",
        "128.0.0.1",
        "127.1",
        "2130706433",
        "",
        " ",
        ":2333",
        "::1",
        "[::1",
        "[::1]x",
        "[127.0.0.1",
        "localhost:port",
        "localhost:1:2",
        "localhost:123456",
        "localhost/",
        "localhost@attacker.example",
        "attacker.example@localhost",
        "localhost, attacker.example",
        "localhost\u212a",
        "http://localhost",
        "localhost\x00",
        "localhost..",
        "%6cocalhost",
    ],
)
def test_every_other_name_is_not(header: str) -> None:
    assert not include(LOCAL, header)


def test_configured_names_are_answered_too() -> None:
    settings = ServiceSettings(allowed_hosts=("Compact.Example.org", "192.0.2.7:2333", "[2001:DB8::1]", "2001:db8::2"))
    for header in ("compact.example.org", "COMPACT.example.org:99", "192.0.2.7", "[2001:db8:0::1]:5", "[2001:db8::2]"):
        assert include(settings, header)
    for header in ("example.org", "x.compact.example.org", "192.0.2.8"):
        assert not include(settings, header)
    assert include(settings, "localhost")


def test_the_name_it_listens_on_is_answered() -> None:
    assert include(ServiceSettings(host="127.0.0.2"), "127.0.0.2:1")
    assert include(ServiceSettings(host="0.0.0.0", allowed_hosts=("a.example",)), "a.example")
    assert not include(ServiceSettings(host="0.0.0.0", allowed_hosts=("a.example",)), "0.0.0.0")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", ""])
def test_where_others_may_come_names_are_checked_only_if_some_are_configured(host: str) -> None:
    assert include(ServiceSettings(host=host), "whatever.example")
    assert not include(ServiceSettings(host=host, allowed_hosts=("a.example",)), "whatever.example")


def test_every_name_can_be_allowed() -> None:
    assert include(ServiceSettings(allowed_hosts=("*",)), "whatever.example")
    assert not include(ServiceSettings(allowed_hosts=("*",)), "what ever")


@pytest.mark.parametrize("entry", ["https://a.example", "a.example/path", "", "*.example.org", "a b", "a,b"])
def test_an_entry_that_is_no_name_is_refused(entry: str) -> None:
    with pytest.raises(ConfigurationError, match=r"service\.allowed_hosts: .* is no host name"):
        host_names(ServiceSettings(allowed_hosts=(entry,)))


async def test_a_foreign_name_is_answered_421() -> None:
    names = host_names(LOCAL)
    assert names is not None
    transport = httpx.ASGITransport(AllowedHosts(inner, names))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        refused = await client.get("/health", headers={"Host": "attacker.example"})
        answered = await client.get("/health", headers={"X-Forwarded-Host": "attacker.example"})
    assert answered.status_code == 200
    assert refused.status_code == 421
    assert (refused.json()["code"], refused.json()["error"]) == ("host_not_allowed", "HostNotAllowedError")
    assert "service.allowed_hosts" in refused.json()["message"]


@pytest.mark.parametrize(
    "headers",
    [[], [(b"host", b"localhost"), (b"host", b"localhost")], [(b"host", b"a.example"), (b"host", b"localhost")]],
)
async def test_exactly_one_host_header_is_needed(headers: list[tuple[bytes, bytes]]) -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    names = host_names(LOCAL)
    assert names is not None
    scope = {"type": "http", "method": "GET", "path": "/health", "headers": headers}
    await AllowedHosts(inner, names)(scope, _never, send)
    assert sent[0]["status"] == 421


async def _never() -> Any:
    await anyio.sleep_forever()
