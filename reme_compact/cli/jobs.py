"""`reme jobs`: the jobs of a running service, or one of them."""

from collections.abc import Mapping, Sequence

from reme_compact.cli.exit_codes import ExitCode
from reme_compact.cli.job_answer import time_of
from reme_compact.cli.job_calls import call_jobs
from reme_compact.cli.job_output import choose_format, write_json, write_text
from reme_compact.cli.job_text import detail, table
from reme_compact.cli.job_words import read_job_words
from reme_compact.cli.printable import printable
from reme_compact.cli.service_keys import SERVICE_KEYS, Service, find_service
from reme_compact.cli.source import escape
from reme_compact.cli.usage import UsageError
from reme_compact.client.jobs import job_of, page_of
from reme_compact.contract.job import JOB_STATUSES
from reme_compact.contract.validation import unknown_name

LIST_KEYS: Mapping[str, str] = {
    "status": f"only jobs with this one: {', '.join(JOB_STATUSES)}",
    "limit": "how many, 1 to 100; default: 20",
    "cursor": "where an earlier list ended, for older jobs",
}
JOBS_KEYS: Mapping[str, str] = {
    **LIST_KEYS,
    **SERVICE_KEYS,
    "output": "table or json; default: table on a terminal, else json",
}
_MOST = 100


def run(words: Sequence[str]) -> ExitCode:
    """Read the arguments, ask the service and show its jobs."""
    job_id, given = read_job_words(words, JOBS_KEYS)
    output = choose_format(given.get("output"), ("table", "json"))
    given = {key: value for key, value in given.items() if key not in LIST_KEYS or value.strip()}
    query = _query(given)
    if job_id is not None and query:
        raise UsageError(f"{next(iter(query))}: is for the list of jobs, not for one of them.")
    service = find_service(given)
    answer = call_jobs(service, "GET", *([] if job_id is None else [job_id]), query=query)
    if job_id is None:
        page = page_of(answer)
        text = table(page.jobs, time_of(answer)) if page.jobs else _none(query)
        if page.next_cursor is not None:
            text += f"\n\nOlder jobs: {printable(_older(service, query, page.next_cursor))}"
    else:
        text = detail(job_of(answer), time_of(answer))
    if output == "json":
        write_json(answer.value)
    else:
        write_text(text)
    return ExitCode.PROPOSAL


def _query(given: Mapping[str, str]) -> dict[str, str]:
    query = {key: given[key].strip() for key in LIST_KEYS if key in given}
    if query.get("status", JOB_STATUSES[0]) not in JOB_STATUSES:
        known = ", ".join(JOB_STATUSES)
        hint = unknown_name("status", query["status"], JOB_STATUSES)
        raise UsageError(f"status: {hint}" if hint.endswith("?") else f"status: must be one of {known}.")
    if "limit" in query:
        from reme_compact.cli.call_numbers import whole  # noqa: PLC0415 - a call is mostly start-up

        query["limit"] = str(whole("limit", query["limit"], 1, _MOST))
    return query


def _none(query: Mapping[str, str]) -> str:
    if "cursor" in query:
        return "There are no older jobs."
    return f"There are no jobs that are {query['status']}." if "status" in query else "There are no jobs."


def _older(service: Service, query: Mapping[str, str], cursor: str) -> str:
    keys = {**query, "cursor": escape(cursor)}
    return service.command("jobs", *(f"{key}={value}" for key, value in keys.items()))
