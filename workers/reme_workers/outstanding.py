"""The batches of one compaction on their way through the queue: what waits, what was sent, what is back."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from reme_compact.contract.errors import DecisionModelError
from reme_compact.decision.outcome import BatchOutcome
from reme_compact.decision.scorer import Scoring
from reme_workers.claims import Look, Whereabouts

RESENT_AFTER_SECONDS = 1.0
"""How long a message may be under way before an empty queue means that it was lost."""

MOST_RESENDS = 2
"""How often a batch is sent again before it counts as failed."""

WORKER_LOST = DecisionModelError(
    "The workers that asked the decision model about this were lost, again and again.", code="worker_lost"
)


@dataclass(slots=True)
class _Sent:
    """A batch that was sent and is not back."""

    at: float
    resends: int = 0
    is_suspect: bool = False


@dataclass(slots=True)
class Outstanding:
    """Keeps count; it sends and receives nothing itself.

    Attributes:
        keys: of all batches, in their order; of equal batches one is sent, and its outcome is theirs.
        max_concurrency: most batches that are sent and not back.
        scoring: what is back so far.
    """

    keys: Sequence[str]
    max_concurrency: int
    scoring: Scoring = field(default_factory=Scoring)
    _indexes: dict[str, list[int]] = field(init=False)
    _waiting: list[str] = field(init=False)
    _sent: dict[str, _Sent] = field(init=False, default_factory=dict)

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
        """How many batches may be sent now."""
        if self.scoring.stopped_by is not None:
            return 0
        return min(len(self._waiting), self.max_concurrency - len(self._sent))

    @property
    def is_over(self) -> bool:
        """Whether nothing will come back any more."""
        return not self._sent and (not self._waiting or self.scoring.stopped_by is not None)

    def take_known(self, known: Mapping[str, BatchOutcome]) -> None:
        """Take outcomes of an earlier attempt, so that nothing is asked twice."""
        for key in [key for key in self._indexes if key in known]:
            self.scoring.requests += 1
            self._take(key, known[key])
        self._waiting = [key for key in self._waiting if key not in known]

    def next_message(self, size: int, now: float) -> list[str]:
        """Choose the batches of the next message, at most so many; they count as sent."""
        keys = [self._waiting.pop() for _ in range(min(size, self.free))]
        for key in keys:
            self._sent[key] = _Sent(now)
        self.scoring.requests += len(keys)
        return keys

    def not_sent(self, keys: Iterable[str]) -> None:
        """Take back what could not be sent."""
        for key in keys:
            if self._sent.pop(key, None) is not None:
                self._waiting.append(key)
                self.scoring.requests -= 1

    def receive(self, outcomes: Mapping[str, BatchOutcome]) -> list[str]:
        """Take what came back, and return what is new of it; what is no longer outstanding is ignored."""
        new = [key for key in outcomes if self._sent.pop(key, None) is not None]
        for key in new:
            self._take(key, outcomes[key])
        return new

    def overdue(self, now: float) -> list[str]:
        """Return what was sent so long ago that it is worth looking where it is."""
        return [key for key, sent in self._sent.items() if now - sent.at > RESENT_AFTER_SECONDS]

    def lost(self, look: Look, now: float) -> tuple[list[str], list[str]]:
        """Judge where batches are: which have to be sent again, and which were sent often enough.

        It takes two looks in a row: a server that was restarted has not heard any heart yet, and a message may have
        been taken a moment ago. A slow decision request is never lost.
        """
        lost = [key for key, where in look.batches.items() if key in self._sent and self._is_lost(key, where, look)]
        again = [key for key in lost if self._sent[key].resends < MOST_RESENDS]
        for key in again:
            self._sent[key] = _Sent(now, self._sent[key].resends + 1)
        return again, [key for key in lost if key not in again]

    def finish(self) -> Scoring:
        """Return what is back, and what was never sent."""
        self.scoring.never_asked = {index for key in self._waiting for index in self._indexes[key]}
        return self.scoring

    def _is_lost(self, key: str, where: Whereabouts, look: Look) -> bool:
        sent = self._sent[key]
        was_suspect = sent.is_suspect
        sent.is_suspect = where is Whereabouts.ORPHANED or (where is Whereabouts.UNCLAIMED and look.queued == 0)
        return was_suspect and sent.is_suspect

    def _take(self, key: str, outcome: BatchOutcome) -> None:
        for index in self._indexes[key]:
            self.scoring.outcomes[index] = outcome
        if outcome.fatal:
            self.scoring.stopped_by = outcome.error
