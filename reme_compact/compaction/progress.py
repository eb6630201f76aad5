"""What a compaction tells on its way, to whoever keeps its record."""

from typing import Protocol

from reme_compact.decision.batching import Batch
from reme_compact.decision.outcome import BatchOutcome


class Progress(Protocol):
    """Is told how far a compaction has come. What it raises ends the compaction."""

    async def planned(self, *, candidates: int, asked: int, batches: int) -> None:
        """The history was read: so many candidates, about so many of which so many batches will ask."""

    async def scored(self, batch: Batch, outcome: BatchOutcome) -> None:
        """A batch came back."""

    async def deciding(self) -> None:
        """All verdicts are there, or the time is up; the proposal is being made."""


class NoProgress:
    """A `Progress` that nobody watches."""

    async def planned(self, *, candidates: int, asked: int, batches: int) -> None:
        """Ignore it."""

    async def scored(self, batch: Batch, outcome: BatchOutcome) -> None:
        """Ignore it."""

    async def deciding(self) -> None:
        """Ignore it."""
