"""`reme result`: what a finished job answers, shown as `reme compact_context` shows it."""

from collections.abc import Mapping, Sequence

from reme_compact.cli.answer import proposal_of
from reme_compact.cli.exit_codes import ExitCode
from reme_compact.cli.job_calls import call_jobs
from reme_compact.cli.job_words import read_words_of_one_job
from reme_compact.cli.output import choose_output, show
from reme_compact.cli.service_keys import SERVICE_KEYS, find_service

RESULT_KEYS: Mapping[str, str] = {
    **SERVICE_KEYS,
    "output": "json, report or messages; default: report on a terminal, else json",
}


def run(words: Sequence[str]) -> ExitCode:
    """Read the arguments, ask the service for the result and show it."""
    job_id, given = read_words_of_one_job(words, RESULT_KEYS)
    output = choose_output(given.get("output"))
    response = proposal_of(call_jobs(find_service(given), "GET", job_id, "result"))
    show(response, output)
    return ExitCode.PROPOSAL if response["success"] else ExitCode.FAILURE
