"""`reme watch`: follow a job until it ends."""

import sys
import time
from collections.abc import Sequence

from reme_compact.cli.exit_codes import ExitCode
from reme_compact.cli.job_calls import call_jobs
from reme_compact.cli.job_events import events_of
from reme_compact.cli.job_words import read_words_of_one_job
from reme_compact.cli.output import complain
from reme_compact.cli.service_keys import ADDRESS_KEYS, Service, find_service
from reme_compact.cli.streams import is_terminal
from reme_compact.cli.watch_lines import Display, choose_display
from reme_compact.cli.watched import Watched
from reme_compact.client.errors import AnswerLostError, NobodyListensError
from reme_compact.client.following import follow
from reme_compact.client.jobs import job_of
from reme_compact.contract.errors import ServiceUnavailableError

WATCH_KEYS = {**ADDRESS_KEYS, "timeout": "seconds for the service to begin to answer; default: 60"}


def run(words: Sequence[str]) -> ExitCode:
    """Read the arguments and show what happens to the job, until it ends or Ctrl-C."""
    job_id, given = read_words_of_one_job(words, WATCH_KEYS)
    service = find_service(given)
    try:
        with choose_display() as display:
            watched = _watch(service, job_id, display)
    except KeyboardInterrupt:
        complain(
            "the job goes on. To follow it again, or to end it:\n"
            f"  {service.command('watch', job_id)}\n  {service.command('cancel', job_id)}"
        )
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        return ExitCode.FAILURE  # nobody reads any more, and success would be a claim about the job
    if watched.status != "succeeded":
        return ExitCode.FAILURE
    if is_terminal(sys.stderr):
        complain(f"the result:\n  {service.command('result', job_id)}")
    return ExitCode.PROPOSAL


def _watch(service: Service, job_id: str, display: Display) -> Watched:
    job = job_of(call_jobs(service, "GET", job_id))
    if job.waiting_for:
        display.note(f"the job waits for a {job.waiting_for}: none is there that could run it")
    watched = Watched()
    events = follow(lambda after: events_of(service, job_id, after), time.sleep, display.note)
    try:
        for event in events:
            display.show(watched.apply(event), watched)
    except NobodyListensError:
        raise NobodyListensError(
            f"The service at {service.address} stopped before the job ended. A job that was kept in its memory ended "
            "with it: start the service, and submit the request again. One that is kept in Redis goes on:\n"
            f"  {service.command('watch', job_id)}"
        ) from None
    except ServiceUnavailableError as error:
        if not error.retryable:
            raise
        raise AnswerLostError(
            f"{error.message}\nThe job may go on. To follow it again:\n  {service.command('watch', job_id)}"
        ) from None
    return watched
