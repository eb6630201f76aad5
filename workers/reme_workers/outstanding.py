"""The batches of one compaction on their way through the queue: what waits, what was sent, what is back."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from reme_compact.contract.errors import DecisionModelError
from reme_compact.decision.outcome import BatchOutcome
from reme_compact.decision.scorer import Scoring
from reme_workers.batch_messages import ROUNDS_PER_MESSAGE
from reme_workers.claims import Look, Whereabouts

RESENT_AFTER_SECONDS = 1.0
"""How long a message may be under way before an empty queue means that it was lost."""

MOST_RESENDS = 2
"""How often a batch is sent again before it counts as failed."""

WORKER_LOST = DecisionModelError(
    "The workers that asked the decision model about this were lost, again and again.", code="worker_lost"
)


@dataclass(eq=False, slots=True)
class Message:
    """Batches that travel together.

    Attributes:
        keys: the batches, in the order in which they are asked about.
        at_once: its share of the window: most of them that are at the decision model at once.
        open: those that are not back.
    """

    keys: list[str]
    at_once: int
    open: dict[str, None] = field(init=False)

    def __post_init__(self) -> None:
        self.open = dict.fromkeys(self.keys)

    @property
    def in_flight(self) -> int:
        """Most of its batches that can be at the decision model now."""
        return min(self.at_once, len(self.open))


@dataclass(slots=True)
class _Sent:
    """A batch that was sent and is not back."""

    at: float
    message: Message
    is_suspect: bool = False


@dataclass(slots=True)
class Outstanding:
    """Keeps count; it sends and receives nothing itself.

    Attributes:
        keys: of all batches, in their order; of equal batches one is sent, and its outcome is theirs.
        max_concurrency: most batches that are at the decision model at once.
        scoring: what is back so far.
    """

    keys: Sequence[str]
    max_concurrency: int
    scoring: Scoring = field(default_factory=Scoring)
    _indexes: dict[str, list[int]] = field(init=False)
    _waiting: list[str] = field(init=False)
    _sent: dict[str, _Sent] = field(init=False, default_factory=dict)
    _messages: set[Message] = field(init=False, default_factory=set)
    _resends: dict[str, int] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._indexes = {}
        for index, key in enumerate(self.keys):
            self._indexes.setdefault(key, []).append(index)
        self._waiting = list(reversed(self._indexes))

    @property
    def sent(self) -> list[str]:
        """Keys of what was sent and is not back."""
        return list(self._sent)

    @property
    def free(self) -> int:
        """How much of the window is nobody's share, as far as batches wait for it."""
        if self.scoring.stopped_by is not None:
            return 0
        return min(len(self._waiting), self.max_concurrency - sum(message.in_flight for message in self._messages))

    @property
    def is_stopped(self) -> bool:
        """Whether asking about more cannot help."""
        return self.scoring.stopped_by is not None

    @property
    def is_over(self) -> bool:
        """Whether nothing will come back any more."""
        return not self._sent and (not self._waiting or self.is_stopped)

    def take_known(self, known: Mapping[str, BatchOutcome]) -> None:
        """Take outcomes of an earlier attempt, so that nothing is asked twice."""
        for key in [key for key in self._indexes if key in known]:
            self._take(key, known[key])
        self._waiting = [key for key in self._waiting if key not in known]

    def next_message(self, share: int, now: float) -> Message | None:
        """Choose the batches of the next message, several times its share; they count as sent.

        Args:
            share: most batches of it that may be at the decision model at once.
            now: the time.
        """
        free = self.free
        if free <= 0:
            return None
        at_once = min(share, free)
        # Evenly over as many messages as there can be now.
        length = min(at_once * ROUNDS_PER_MESSAGE, -(-len(self._waiting) // -(-free // at_once)))
        message = Message([self._waiting.pop() for _ in range(length)], min(at_once, length))
        self._messages.add(message)
        for key in message.keys:
            self._sent[key] = _Sent(now, message)
        return message

    def not_sent(self, keys: Iterable[str]) -> None:
        """Take back what could not be sent, or was sent and will not be asked."""
        for key in reversed(list(keys)):
            if self._close(key):
                self._waiting.append(key)

    def receive(self, outcomes: Mapping[str, BatchOutcome]) -> list[str]:
        """Take what came back, and return what is new of it; what is no longer outstanding is ignored."""
        new = [key for key in outcomes if self._close(key)]
        for key in new:
            self._take(key, outcomes[key])
        return new

    def overdue(self, now: float) -> list[str]:
        """Return what was sent so long ago that it is worth looking where it is."""
        return [key for key, sent in self._sent.items() if now - sent.at > RESENT_AFTER_SECONDS]

    def lost(self, look: Look) -> tuple[list[str], list[str]]:
        """Judge where batches are: which wait again since they were lost, and which were lost too often.

        It takes two looks in a row: a server that was restarted has not heard any heart yet, and a message may have
        been taken a moment ago. A slow decision request is never lost.
        """
        lost = [key for key, where in look.batches.items() if key in self._sent and self._is_lost(key, where, look)]
        again = [key for key in lost if self._resends.get(key, 0) < MOST_RESENDS]
        for key in again:
            self._resends[key] = self._resends.get(key, 0) + 1
        self.not_sent(again)
        return again, [key for key in lost if key not in again]

    def finish(self) -> Scoring:
        """Return what is back, and what was never asked, as far as that is known: of a message, all but its share."""
        never_asked = [key for key in self._waiting if key not in self._resends]
        for message in self._messages:
            never_asked += list(message.open)[message.in_flight :]
        self.scoring.never_asked = {index for key in never_asked for index in self._indexes[key]}
        self.scoring.requests = len(self._indexes) - len(never_asked)
        return self.scoring

    def _is_lost(self, key: str, where: Whereabouts, look: Look) -> bool:
        sent = self._sent[key]
        was_suspect = sent.is_suspect
        sent.is_suspect = where is Whereabouts.ORPHANED or (where is Whereabouts.UNCLAIMED and look.queued == 0)
        return was_suspect and sent.is_suspect

    def _close(self, key: str) -> bool:
        """Take a batch off its message; false: it is not outstanding."""
        sent = self._sent.pop(key, None)
        if sent is None:
            return False
        sent.message.open.pop(key, None)
        if not sent.message.open:
            self._messages.discard(sent.message)
        return True

    def _take(self, key: str, outcome: BatchOutcome) -> None:
        for index in self._indexes[key]:
            self.scoring.outcomes[index] = outcome
        if outcome.fatal:
            self.scoring.stopped_by = outcome.error
