"""The events of a job as one connection brings them, with advice where the service refuses."""

from collections.abc import Generator
from contextlib import ExitStack

from reme_compact.cli.client import in_words_of_the_command_line
from reme_compact.cli.job_calls import advised
from reme_compact.cli.service_keys import Service
from reme_compact.client.authorization import authorization
from reme_compact.client.job_events import events_sent, open_events
from reme_compact.client.problems import ReportedProblemError
from reme_compact.contract.errors import JobNotFoundError
from reme_compact.contract.job import JobEvent

_RESTARTED = (
    "It was there a moment ago, so the service was restarted, and kept its jobs in memory, where they end with it. "
    "Submit the request again if its result is still wanted."
)


def events_of(service: Service, job_id: str, after: str | None) -> Generator[JobEvent, None, None]:
    """Yield the events of a job as one connection brings them.

    Args:
        service: where.
        job_id: which job.
        after: id of the event after which to go on; null: from the beginning.

    Raises:
        ServiceUnavailableError: nothing that speaks this protocol answered, or the connection broke.
        ReportedError: the service refused, or failed on the way.
        UsageError: the address cannot be called.

    """
    sent = events_sent(job_id, after, authorization())
    opened = open_events(service.address, sent, timeout_seconds=service.timeout_seconds)
    with ExitStack() as stack:
        try:
            with in_words_of_the_command_line():
                events = stack.enter_context(opened)
        except ReportedProblemError as problem:
            if after is not None and problem.code == JobNotFoundError.code:
                raise problem.advised(_RESTARTED) from None
            raise advised(problem, service, job_id) from None
        yield from events
