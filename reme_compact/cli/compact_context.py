"""`reme compact_context`: ask a running service for a proposal."""

from collections.abc import Mapping, Sequence
from typing import Any

from reme_compact.cli.address import Address, find_address
from reme_compact.cli.client import call_service
from reme_compact.cli.exit_codes import ExitCode
from reme_compact.cli.grammar import read_words
from reme_compact.cli.output import choose_output, show
from reme_compact.cli.request_keys import JOB, Key, request_keys
from reme_compact.cli.request_values import WHOLE_REQUEST, build_request
from reme_compact.cli.usage import UsageError
from reme_compact.cli.values import convert

CALL_KEYS: Mapping[str, str] = {
    "host": "name or address of the service; default: as the preset says",
    "port": "its port; default: as the preset says",
    "config": "the preset that says where the service is; default: decision_compaction",
    "timeout": "seconds for the whole call; default: options.total_timeout_seconds and 30 more",
    "output": "json, report or messages; default: report on a terminal, else json",
}
_SECONDS_BEYOND_SCORING = 30.0
_LONGEST_TIMEOUT = 1e6


def run(words: Sequence[str]) -> ExitCode:
    """Read the arguments, call the service and show its answer."""
    assignments = read_words(words, {*request_keys(), WHOLE_REQUEST.name, *CALL_KEYS})
    given = {key: value for key, value in assignments.items() if key in CALL_KEYS}
    output = choose_output(given.get("output"))
    request = build_request(
        {key: value for key, value in assignments.items() if key not in CALL_KEYS}, other_keys=tuple(CALL_KEYS)
    )
    address = find_address(given.get("host"), given.get("port"), lambda: configured_address(given.get("config")))
    response = call_service(address, JOB, request, timeout_seconds=_timeout(given.get("timeout"), request))
    show(response, output, request)
    return ExitCode.PROPOSAL if response["success"] else ExitCode.FAILURE


def configured_address(config: str | None) -> Address:
    """Read from a preset where its service is."""
    # Not needed when host and port are given.
    from reme_compact.cli.preset import DEFAULT_PRESET, preset_named  # noqa: PLC0415

    service = preset_named(DEFAULT_PRESET if config is None else config).service
    return Address(service.host, service.port)


def _timeout(given: str | None, request: Mapping[str, Any]) -> float:
    if given is not None:
        seconds: float = convert("timeout", Key(name="timeout", kind="number"), given)
        if not 0 < seconds <= _LONGEST_TIMEOUT:
            raise UsageError(f"timeout: must be a number of seconds above 0, at most {_LONGEST_TIMEOUT:g}.")
        return seconds
    options = request.get("options")
    scoring = options.get("total_timeout_seconds") if isinstance(options, dict) else None
    if isinstance(scoring, bool) or not isinstance(scoring, int | float) or not 0 < scoring <= _LONGEST_TIMEOUT:
        scoring = request_keys()["options"].children["total_timeout_seconds"].default
    return min(float(scoring) + _SECONDS_BEYOND_SCORING, _LONGEST_TIMEOUT)
