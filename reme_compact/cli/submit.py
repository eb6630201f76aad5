"""`reme submit`: hand a request to a running service as a job, and get its id."""

import difflib
import sys
from collections.abc import Mapping, Sequence

from reme_compact.cli.call_numbers import LONGEST_SECONDS, seconds, whole
from reme_compact.cli.call_words import read_call
from reme_compact.cli.delivery import deliver, idempotency_key, whereabouts
from reme_compact.cli.exit_codes import ExitCode
from reme_compact.cli.job_output import write_json, write_text
from reme_compact.cli.job_text import status
from reme_compact.cli.output import complain
from reme_compact.cli.printable import shorten
from reme_compact.cli.request_keys import JOB
from reme_compact.cli.request_values import build_request
from reme_compact.cli.service_keys import ADDRESS_KEYS, Service, find_service
from reme_compact.cli.streams import is_terminal
from reme_compact.cli.usage import UsageError
from reme_compact.client.jobs import job_of
from reme_compact.contract.job import JobDocument

SUBMIT_KEYS: Mapping[str, str] = {
    **ADDRESS_KEYS,
    "timeout": "seconds for the whole call; default: 60 more than wait",
    "idempotency_key": "your name for this request: sent twice, it is one job; 1 to 255 visible ASCII characters; "
    "default: a new one for each call, so that a lost answer can be asked for again",
    "start_within_seconds": "how long the job may wait to be started; default and most: as the service's preset says",
    "wait": "whole seconds to wait for the end of the job, at most as long as the service allows; default: none",
    "output": "id or json; default: id",
}


def run(words: Sequence[str]) -> ExitCode:
    """Read the arguments, send the request and print the id of its job."""
    job, words = _split_job(words)
    given, assignments = read_call(words, SUBMIT_KEYS)
    output = given.get("output", "id")
    if output not in ("id", "json"):
        raise UsageError("output: must be id or json.")
    key, wait = idempotency_key(given.get("idempotency_key")), _wait(given)
    query = _query(given)
    request = build_request(assignments, other_keys=tuple(SUBMIT_KEYS))
    service = find_service(given)
    timeout = min(service.timeout_seconds + (0 if "timeout" in given else wait or 0), LONGEST_SECONDS)
    headers = {} if wait is None else {"Prefer": f"wait={wait}"}
    try:
        answer = deliver(service, job, request=request, query=query, headers=headers, key=key, timeout_seconds=timeout)
    except KeyboardInterrupt:
        complain(whereabouts(service, key))
        return ExitCode.INTERRUPTED
    document = job_of(answer)
    lost = f"The job was accepted, and its id is {document.id}."
    if output == "json":
        write_json(answer.value, lost=lost)
    else:
        write_text(document.id, lost=lost)
    if is_terminal(sys.stderr):
        is_earlier = "idempotency_key" in given and "Idempotency-Replayed" in answer.headers
        complain(_hint(document, service, is_earlier=is_earlier))
    return ExitCode.PROPOSAL


def _split_job(words: Sequence[str]) -> tuple[str, Sequence[str]]:
    job, *others = words or ("",)
    if not job or "=" in job:
        raise UsageError(f"a job is missing: reme submit {JOB} KEY=VALUE ...")
    if job != JOB:
        close = difflib.get_close_matches(job.lower(), [JOB], n=1)
        hint = f"did you mean '{JOB}'?" if close else f"there is '{JOB}'."
        raise UsageError(f"there is no job '{shorten(job, 40)}'; {hint}")
    return job, others


def _wait(given: Mapping[str, str]) -> int | None:
    return whole("wait", given["wait"], 0, int(LONGEST_SECONDS)) if "wait" in given else None


def _query(given: Mapping[str, str]) -> dict[str, str]:
    name = "start_within_seconds"
    return {name: f"{seconds(name, given[name]):.15g}"} if name in given else {}


def _hint(job: JobDocument, service: Service, *, is_earlier: bool) -> str:
    first = "an earlier request with this idempotency_key; " if is_earlier else ""
    command = service.command("result" if job.status == "succeeded" else "jobs" if job.is_final else "watch", job.id)
    return f"{first}the job is {status(job)}. Next:\n  {command}"
