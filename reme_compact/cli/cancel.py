"""`reme cancel`: end a job that is not wanted any more."""

from collections.abc import Mapping, Sequence

from reme_compact.cli.exit_codes import ExitCode
from reme_compact.cli.job_calls import call_jobs
from reme_compact.cli.job_output import choose_format, write_json, write_text
from reme_compact.cli.job_words import read_words_of_one_job
from reme_compact.cli.service_keys import SERVICE_KEYS, find_service
from reme_compact.client.jobs import job_of
from reme_compact.contract.job import JobDocument

CANCEL_KEYS: Mapping[str, str] = {
    **SERVICE_KEYS,
    "output": "text or json; default: text on a terminal, else json",
}


def run(words: Sequence[str]) -> ExitCode:
    """Read the arguments, have the job cancelled and say what it is now."""
    job_id, given = read_words_of_one_job(words, CANCEL_KEYS)
    output = choose_format(given.get("output"), ("text", "json"))
    answer = call_jobs(find_service(given), "DELETE", job_id)
    document = job_of(answer)
    if output == "json":
        write_json(answer.value)
    else:
        write_text(_sentence(document))
    return ExitCode.PROPOSAL


def _sentence(job: JobDocument) -> str:
    if job.status == "cancelled":
        return f"{job.id} is cancelled."
    if job.is_final:
        return f"{job.id} had finished before ({job.status}), and stays what it is."
    return f"{job.id} is being cancelled; so far it is {job.status}."
