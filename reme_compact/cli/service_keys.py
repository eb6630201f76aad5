"""The keys that every call to a service understands: where it is, and how long to wait for it."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from reme_compact.cli.address import Address, find_address

ADDRESS_KEYS: Mapping[str, str] = {
    "host": "name or address of the service; default: as the preset says",
    "port": "its port; default: as the preset says",
    "config": "the preset that says where the service is; default: decision_compaction",
}
SERVICE_KEYS: Mapping[str, str] = {**ADDRESS_KEYS, "timeout": "seconds for the whole call; default: 60"}
_USUAL_TIMEOUT = 60.0


@dataclass(frozen=True, slots=True)
class Service:
    """A service as it was named on the command line."""

    address: Address
    timeout_seconds: float
    address_words: tuple[str, ...]

    def command(self, *words: str) -> str:
        """Write a further command about the same service, ready to be pasted."""
        return shlex.join(("reme", *words, *self.address_words))


def find_service(given: Mapping[str, str]) -> Service:
    """Find the service that the keys of a call name.

    Raises:
        UsageError: a host, port, preset or timeout that cannot be one.
        ConfigurationError: the preset's file or the environment is wrong.

    """
    timeout = _USUAL_TIMEOUT
    if "timeout" in given:
        from reme_compact.cli.call_numbers import seconds  # noqa: PLC0415 - a call is mostly start-up

        timeout = seconds("timeout", given["timeout"])
    address = find_address(given.get("host"), given.get("port"), lambda: configured_address(given.get("config")))
    words = tuple(f"{key}={given[key]}" for key in ADDRESS_KEYS if key in given)
    return Service(address, timeout, words)


def configured_address(config: str | None) -> Address:
    """Read from a preset where its service is."""
    # Not needed when host and port are given.
    from reme_compact.cli.preset import DEFAULT_PRESET, preset_named  # noqa: PLC0415

    service = preset_named(DEFAULT_PRESET if config is None else config).service
    return Address(service.host, service.port)
