import pytest

from reme_compact.cli.address import Address, find_address
from reme_compact.cli.usage import UsageError


def configured() -> Address:
    return Address("10.0.0.7", 2333)


@pytest.mark.parametrize(
    ("host", "port", "url"),
    [
        (None, None, "http://10.0.0.7:2333"),
        ("example.test", None, "http://example.test:2333"),
        (None, "9000", "http://10.0.0.7:9000"),
        ("::1", None, "http://[::1]:2333"),
        ("[::1]", "80", "http://[::1]:80"),
        ("fe80::1", "80", "http://[fe80::1]:80"),
    ],
)
def test_host_and_port_each_work_alone(host: str | None, port: str | None, url: str) -> None:
    assert find_address(host, port, configured).url == url


def test_the_preset_is_not_read_when_both_are_given() -> None:
    def unwanted() -> Address:
        raise AssertionError

    assert find_address("a", "1", unwanted) == Address("a", 1)


@pytest.mark.parametrize(("listening", "called"), [("0.0.0.0", "127.0.0.1"), ("::", "::1"), ("localhost", "localhost")])
def test_a_wildcard_is_called_on_loopback(listening: str, called: str) -> None:
    assert find_address(None, None, lambda: Address(listening, 1)).host == called


@pytest.mark.parametrize("host", ["http://localhost", "localhost/x", "", "two words", "127.0.0.1:8000", "a\nb"])
def test_a_host_is_only_a_host(host: str) -> None:
    with pytest.raises(UsageError, match=r"^host: "):
        find_address(host, "1", configured)


def test_a_port_behind_the_host_is_moved_to_its_key() -> None:
    with pytest.raises(UsageError, match="host=localhost port=8000"):
        find_address("localhost:8000", None, configured)


@pytest.mark.parametrize("port", ["0", "65536", "-1", "x", "", "1.0", "٣", "9" * 5000])
def test_a_port_is_a_port(port: str) -> None:
    with pytest.raises(UsageError, match=r"^port: must be a whole number from 1 to 65535"):
        find_address("a", port, configured)
