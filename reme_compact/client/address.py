"""Where a service is."""

from dataclasses import dataclass
from typing import ClassVar, Literal
from urllib.parse import urlsplit

from reme_compact.client.errors import InvalidAddressError

_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Address:
    """Where a service is.

    Attributes:
        host: a name, an IPv4 or a bare IPv6 address.
        port: 1 to 65535.
        scheme: `https` where a proxy before the service speaks TLS.
        prefix: what a proxy puts before every path; empty or with a slash in front and none at the end.

    """

    named_host: ClassVar[str] = "the address"
    named_whole: ClassVar[str] = "the address"
    """What the caller has to look at if nothing, or something else, is found there."""

    host: str
    port: int
    scheme: Literal["http", "https"] = "http"
    prefix: str = ""

    def __str__(self) -> str:
        """Write the address as it stands in a URL."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def url(self) -> str:
        """The base URL, without a final slash."""
        return f"{self.scheme}://{self}{self.prefix}"


def parse_address(url: str) -> Address:
    """Read an address as it stands in a URL, such as `http://127.0.0.1:2333`.

    Raises:
        InvalidAddressError: it cannot be one; what it may hold besides, such as a password, is not told.

    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise _invalid("must be a URL such as http://127.0.0.1:2333") from None
    if parts.scheme not in _PORTS:
        raise _invalid("must begin with http:// or https://, as in http://127.0.0.1:2333")
    if "@" in parts.netloc:
        raise _invalid("must not hold a user or a password; a key is given as api_key=")
    if parts.query or parts.fragment:
        raise _invalid("must end before any ? or #")
    host = parts.hostname or ""
    if not host or not all(character.isprintable() and not character.isspace() for character in host) or port == 0:
        raise _invalid("must name a host, and a port if it is not the usual one")
    prefix = parts.path.rstrip("/")
    if not all("!" <= character <= "~" for character in prefix):
        raise _invalid("must have its path percent-encoded")
    scheme: Literal["http", "https"] = "https" if parts.scheme == "https" else "http"
    return Address(host, port or _PORTS[scheme], scheme, prefix)


def _invalid(problem: str) -> InvalidAddressError:
    return InvalidAddressError(f"address: {problem}.")
