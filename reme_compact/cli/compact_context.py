"""`reme compact_context`: ask a running service for a proposal."""

from collections.abc import Mapping, Sequence
from typing import Any

from reme_compact.cli.address import find_address
from reme_compact.cli.answer import proposal_of
from reme_compact.cli.call_numbers import LONGEST_SECONDS, seconds
from reme_compact.cli.call_words import read_call
from reme_compact.cli.client import call_service
from reme_compact.cli.exit_codes import ExitCode
from reme_compact.cli.output import choose_output, show
from reme_compact.cli.request_keys import JOB, request_keys
from reme_compact.cli.request_values import build_request
from reme_compact.cli.service_keys import ADDRESS_KEYS, configured_address

CALL_KEYS: Mapping[str, str] = {
    **ADDRESS_KEYS,
    "timeout": "seconds for the whole call; default: options.total_timeout_seconds and 30 more",
    "output": "json, report or messages; default: report on a terminal, else json",
}
_SECONDS_BEYOND_SCORING = 30.0


def run(words: Sequence[str]) -> ExitCode:
    """Read the arguments, call the service and show its answer."""
    given, assignments = read_call(words, CALL_KEYS)
    output = choose_output(given.get("output"))
    request = build_request(assignments, other_keys=tuple(CALL_KEYS))
    address = find_address(given.get("host"), given.get("port"), lambda: configured_address(given.get("config")))
    timeout = _timeout(given.get("timeout"), request)
    response = proposal_of(call_service(address, "POST", f"/{JOB}", request=request, timeout_seconds=timeout))
    show(response, output, request)
    return ExitCode.PROPOSAL if response["success"] else ExitCode.FAILURE


def _timeout(given: str | None, request: Mapping[str, Any]) -> float:
    if given is not None:
        return seconds("timeout", given)
    options = request.get("options")
    scoring = options.get("total_timeout_seconds") if isinstance(options, dict) else None
    if isinstance(scoring, bool) or not isinstance(scoring, int | float) or not 0 < scoring <= LONGEST_SECONDS:
        scoring = request_keys()["options"].children["total_timeout_seconds"].default
    return min(float(scoring) + _SECONDS_BEYOND_SCORING, LONGEST_SECONDS)
