"""What a client is made with: where it calls, as whom, and how patiently."""

import math
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, replace

from reme_compact.client.address import Address, parse_address
from reme_compact.client.attempts import Attempts
from reme_compact.client.authorization import authorization, bearer
from reme_compact.client.calls import Call
from reme_compact.client.sent import Sent
from reme_compact.contract.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Settings:
    """The checked arguments of a client."""

    address: Address
    headers: Mapping[str, str]
    timeout_seconds: float | None
    retries: int
    tls: ssl.SSLContext | None

    def attempts_at(self, call: Call) -> Attempts:
        """Return the attempts that a call is worth."""
        return Attempts(
            retries=self.retries, timeout_seconds=self.seconds_of(call), can_be_repeated=call.can_be_repeated
        )

    def seconds_of(self, call: Call) -> float:
        """Return how long a call may take, with all its attempts."""
        return call.default_seconds if self.timeout_seconds is None else self.timeout_seconds

    def with_key(self, sent: Sent) -> Sent:
        """Return what is sent with the header that carries the key."""
        return replace(sent, headers={**sent.headers, **self.headers})


def checked_settings(
    address: str, *, api_key: str | None, timeout: float | None, retries: int, tls: ssl.SSLContext | None
) -> Settings:
    """Check the arguments of a client.

    Raises:
        InvalidAddressError: the address cannot be one.
        ConfigurationError: the key, the timeout or the retries cannot be what they should; no value is told.

    """
    if timeout is not None and not (_is_number(timeout) and math.isfinite(timeout) and timeout > 0):
        raise ConfigurationError("timeout: must be a number of seconds greater than 0, or None.")
    if not _is_count(retries):
        raise ConfigurationError("retries: must be a whole number, at least 0.")
    headers = authorization() if api_key is None else bearer(api_key, "api_key")
    return Settings(parse_address(address), headers, timeout, retries, tls)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
