import pytest

from reme_compact.client import Client, InvalidAddressError
from reme_compact.client.address import Address, parse_address
from reme_compact.contract.errors import ConfigurationError


@pytest.mark.parametrize(
    ("url", "address", "base"),
    [
        ("http://127.0.0.1:2333", Address("127.0.0.1", 2333), "http://127.0.0.1:2333"),
        ("http://[::1]:2333/", Address("::1", 2333), "http://[::1]:2333"),
        ("http://reme", Address("reme", 80), "http://reme:80"),
        ("https://reme.example/a/b/", Address("reme.example", 443, "https", "/a/b"), "https://reme.example:443/a/b"),
    ],
)
def test_addresses(url: str, address: Address, base: str) -> None:
    assert parse_address(url) == address
    assert address.url == base


@pytest.mark.parametrize(
    "url",
    [
        "",
        "127.0.0.1:2333",
        "reme",
        "ftp://reme",
        "http://",
        "http://reme:0",
        "http://reme:99999",
        "http://[::1",
        "http://reme:port",
        "http://me:s3cret@reme",
        "http://reme/?key=s3cret",
        "http://reme#x",
        "http://re me",
        "http://reme/größe",
    ],
)
def test_what_cannot_be_called_is_refused_at_once(url: str) -> None:
    with pytest.raises(InvalidAddressError, match=r"^address: ") as caught:
        Client(url)
    assert "s3cret" not in caught.value.message


def test_a_host_that_turns_out_impossible() -> None:
    with pytest.raises(InvalidAddressError):
        Client(f"http://{'a' * 70}").health()


@pytest.mark.parametrize(
    "arguments",
    [
        {"timeout": 0},
        {"timeout": -1},
        {"timeout": float("inf")},
        {"timeout": True},
        {"timeout": "5"},
        {"retries": -1},
        {"retries": 1.5},
        {"retries": True},
        {"api_key": "s3cret s3cret"},
        {"api_key": "s3cret\r\nX: y"},
    ],
    ids=repr,
)
def test_other_arguments_are_checked_too(arguments: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError, match=f"^{next(iter(arguments))}: ") as caught:
        Client(**arguments)  # type: ignore[arg-type]
    assert "s3cret" not in caught.value.message
