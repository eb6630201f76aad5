"""All events of a job, one after the other, over connections that may break."""

from collections.abc import Callable, Generator
from contextlib import closing

from reme_compact.client.errors import NobodyListensError, ServiceUnreachableError
from reme_compact.contract.errors import ReMeError
from reme_compact.contract.job import JobEvent

REFUSALS_AT_MOST = 5
"""So often in a row a new connection may be refused: then nobody listens there, which waiting rarely mends."""

WAITS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0)
"""Seconds before each new connection, as long as no event comes; after the last the job is given up."""


class Following:
    """How far a job has been followed, and what to do when a connection ends before the job does.

    Attributes:
        after: id of the event after which to go on; null: from the beginning.

    """

    def __init__(self, after: str | None = None) -> None:
        self.after = after
        self._seen: set[str] = set()
        self._failures = 0
        self._refusals = 0
        self._connected = False

    def takes(self, event: JobEvent) -> bool:
        """Tell whether an event is new; it is not where whoever answers did not go on where it was asked to."""
        self._connected = True
        if event.id in self._seen:
            return False
        if event.id:
            self.after, self._failures = event.id, 0
            self._seen.add(event.id)
        return True

    def pause_after(self, failure: ReMeError | None) -> tuple[float, str]:
        """Return after how many seconds to go on, and a sentence about it.

        Args:
            failure: why the connection ended; null: it came to an end like any other.

        Raises:
            NobodyListensError: connections are refused, the first one or several in a row.
            ReMeError: the first connection failed, no further one is of use, or too many in a row brought nothing.

        """
        if failure is None:
            failure = ServiceUnreachableError("The service ended the stream of events before the job ended.")
        elif not self._connected or not failure.retryable:
            raise failure
        self._connected = True
        self._refusals = self._refusals + 1 if isinstance(failure, NobodyListensError) else 0
        if self._failures == len(WAITS) or self._refusals == REFUSALS_AT_MOST:
            raise failure
        seconds = WAITS[self._failures]
        self._failures += 1
        what = "nobody listens there any more" if self._refusals else "the stream of events broke"
        return seconds, f"{what}; trying again in {seconds:g} s"


def follow(
    connect: Callable[[str | None], Generator[JobEvent, None, None]],
    wait: Callable[[float], None],
    note: Callable[[str], None],
    after: str | None = None,
) -> Generator[JobEvent, None, None]:
    """Yield every event once, until the last, `finished`, going on after the last one seen when a connection breaks.

    Args:
        connect: gives the events after an id; null: from the beginning.
        wait: waits so many seconds.
        note: takes a sentence about what is being done.
        after: id of an event that is known already, and with it all before; null: none is.

    Raises:
        ReMeError: as `Following.pause_after` says.

    """
    following = Following(after)
    while True:
        failure: ReMeError | None = None
        try:
            with closing(connect(following.after)) as events:
                for event in events:
                    if following.takes(event):
                        yield event
                    if event.type == "finished":
                        return
        except ReMeError as error:
            failure = error
        seconds, sentence = following.pause_after(failure)
        note(sentence)
        wait(seconds)
