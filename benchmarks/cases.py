"""Which cases are measured, and who measures what of them."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal, TypeAlias

Budget: TypeAlias = Literal["none", "half", "impossible"]
Shape: TypeAlias = Literal["message_per_pair", "one_message"]
Side: TypeAlias = Literal["ours", "theirs"]
CounterKind: TypeAlias = Literal["none", "additive", "opaque"]

LARGEST_INPUT_CHARS = 500_000_000
_CHARS_AROUND_A_RESULT = 350
_BUDGETS: tuple[Budget, ...] = ("none", "half", "impossible")


@dataclass(frozen=True, slots=True)
class Case:
    """One history and one budget.

    Attributes:
        pairs: tool pairs in the history.
        chars: characters of each result.
        budget: none, half of the history's tokens, or one token.
        shape: a message per pair, or one assistant message with all pairs.
    """

    pairs: int
    chars: int
    budget: Budget = "none"
    shape: Shape = "message_per_pair"

    @property
    def size(self) -> str:
        """The size, as `1,000 x 2,000`, with the shape unless it is the usual one."""
        size = f"{self.pairs:,} x {self.chars:,}"
        return size if self.shape == "message_per_pair" else f"{size}, one message"

    @property
    def input_chars(self) -> int:
        """About how many characters the history has as JSON."""
        return self.pairs * (self.chars + _CHARS_AROUND_A_RESULT)

    @property
    def too_large(self) -> bool:
        """Whether the case is left out for its size."""
        return self.input_chars > LARGEST_INPUT_CHARS

    def includes(self, smaller: "Case") -> bool:
        """Tell whether this case is all the work of another one, and more."""
        return (
            self != smaller
            and self.shape == smaller.shape
            and smaller.budget in ("none", self.budget)
            and self.pairs >= smaller.pairs
            and self.chars >= smaller.chars
        )


@dataclass(frozen=True, slots=True)
class Variant:
    """Who compacts, and with which kind of token counter."""

    side: Side
    counter: CounterKind

    @property
    def name(self) -> str:
        """The key of the variant in the results."""
        return self.side if self.counter == "none" else f"{self.side}_{self.counter}"


@dataclass(frozen=True, slots=True)
class RunSpec:
    """What one process measures, as it is handed over on the command line.

    Attributes:
        sent_path: where to write the decision requests, one JSON line each; null writes none.
    """

    case: Case
    counter: CounterKind
    seed: int
    sent_path: str | None = None

    def to_json(self) -> str:
        """Write the spec as one argument."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "RunSpec":
        """Read what `to_json` wrote."""
        values = json.loads(text)
        return cls(**{**values, "case": Case(**values["case"])})


def variants_of(case: Case, sides: Sequence[Side]) -> list[Variant]:
    """Return who is measured on a case: with a budget, ours with both kinds of counter."""
    if case.budget == "none":
        return [Variant(side, "none") for side in sides]
    known: list[Variant] = []
    if "ours" in sides:
        known += [Variant("ours", "additive"), Variant("ours", "opaque")]
    if "theirs" in sides:
        known.append(Variant("theirs", "opaque"))
    return known


def full_cases() -> list[Case]:
    """Return all cases, each after those that it includes."""
    cases = [
        Case(pairs, chars, budget)
        for pairs in (100, 1_000, 5_000, 20_000)
        for chars in (200, 2_000, 20_000)
        for budget in _BUDGETS
    ]
    return cases + [
        Case(pairs, 2_000, budget, "one_message") for pairs in (1_000, 5_000) for budget in ("none", "half")
    ]


def quick_cases() -> list[Case]:
    """Return the cases that are done in about a minute."""
    return [
        Case(pairs, chars, budget) for pairs in (100, 1_000) for chars in (200, 2_000) for budget in ("none", "half")
    ]
