"""Pack evidence units into as few decision requests as will hold them, filled evenly.

Sizes are measured once per unit and only added up afterwards, so packing is linear in the history.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from itertools import accumulate
from typing import Any, cast

import orjson

from reme_compact.contract.options import CompactionOptions
from reme_compact.decision.context import TaskContext
from reme_compact.decision.protocol import BinaryQuestion, State
from reme_compact.decision.questions import question_about
from reme_compact.tokens.estimate import estimate_parts

REQUEST_OVERHEAD = 256
"""Estimated tokens that a provider adds to a decision request."""

MAX_QUESTIONS = 400
"""Most questions in one request: the limit of OpenAI's Decisions API."""

_UNIT_FRAME = 1
_QUESTION_FRAME = 3


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """One decision request, equal only to itself.

    Attributes:
        state: task context and evidence units.
        unit_ids: the units asked about, in the order of the state.
        state_tokens: estimated tokens of the state.
        known_key: its key, once somebody has asked for it or where it was known before.
    """

    state: State
    unit_ids: list[str]
    state_tokens: int
    known_key: str | None = field(default=None, repr=False)

    def questions(self) -> dict[str, BinaryQuestion]:
        """Write one question per unit, by the unit's id; made when asked, since each is the same but for the id."""
        return {unit_id: question_about(unit_id) for unit_id in self.unit_ids}

    def key(self) -> str:
        """Return a hash of everything that is asked, the same for equal requests in any process."""
        if self.known_key is None:
            digest = sha256(orjson.dumps(self.state))
            digest.update(orjson.dumps(self.unit_ids))
            digest.update(orjson.dumps({"question": question_about("t")}))
            object.__setattr__(self, "known_key", digest.hexdigest())
        return cast("str", self.known_key)


@dataclass(frozen=True, slots=True)
class Packing:
    """All decision requests of one compaction.

    Attributes:
        batches: the requests, in the order of the history.
        oversized: ids of units that do not fit into a request even alone.
    """

    batches: list[Batch]
    oversized: list[str]


def pack_units(
    units: Sequence[dict[str, Any]],
    context: TaskContext,
    options: CompactionOptions,
    *,
    check: Callable[[], None] = lambda: None,
) -> Packing:
    """Distribute units over batches within the limits of the options.

    Args:
        units: evidence units, in the order of the history.
        context: what every state holds besides them.
        options: the limits.
        check: called again and again; may raise to end the work.
    """
    unit_tokens = [_UNIT_FRAME + tokens for tokens in estimate_parts(_written(units, check))]
    question_tokens = _question_tokens(units)
    room_in_state = options.max_state_tokens - context.tokens
    room_in_request = options.max_request_tokens - REQUEST_OVERHEAD - context.tokens
    fitting = [
        index
        for index, tokens in enumerate(unit_tokens)
        if tokens <= room_in_state and tokens + question_tokens <= room_in_request
    ]
    fits = set(fitting)
    oversized = [unit["id"] for index, unit in enumerate(units) if index not in fits]
    state_sizes = [unit_tokens[index] for index in fitting]
    request_sizes = [unit_tokens[index] + question_tokens for index in fitting]
    batches = []
    start = 0
    for end in divide(state_sizes, request_sizes, room_in_state, room_in_request):
        chosen = fitting[start:end]
        batches.append(
            Batch(
                state={**context.state, "evidence_units": [units[index] for index in chosen]},
                unit_ids=[units[index]["id"] for index in chosen],
                state_tokens=context.tokens + sum(state_sizes[start:end]),
            )
        )
        start = end
    return Packing(batches, oversized)


def _written(units: Sequence[dict[str, Any]], check: Callable[[], None]) -> Iterator[bytes]:
    for unit in units:
        check()
        yield orjson.dumps(unit)


def divide(
    state_sizes: Sequence[int], request_sizes: Sequence[int], room_in_state: int, room_in_request: int
) -> list[int]:
    """Cut a sequence of units into the fewest batches that fit, then make the fullest of them as small as can be.

    Returns:
        The end of each batch, as indexes into the sequence. Every unit must fit alone.
    """
    if not state_sizes:
        return []
    state_sums = [0, *accumulate(state_sizes)]
    request_sums = [0, *accumulate(request_sizes)]

    def ends_with(room: int) -> list[int]:
        ends = [0]
        while ends[-1] < len(state_sizes):
            start = ends[-1]
            by_state = bisect_right(state_sums, state_sums[start] + room_in_state) - 1
            by_request = bisect_right(request_sums, request_sums[start] + room) - 1
            ends.append(max(start + 1, min(by_state, by_request, start + MAX_QUESTIONS)))
        return ends[1:]

    best = ends_with(room_in_request)
    fewest = len(best)
    low, high = max(*request_sizes, request_sums[-1] // fewest), min(room_in_request, request_sums[-1])
    while low < high:
        middle = (low + high) // 2
        ends = ends_with(middle)
        if len(ends) == fewest:
            best, high = ends, middle
        else:
            low = middle + 1
    return best


def _question_tokens(units: Sequence[dict[str, Any]]) -> int:
    """Estimate a question by that about the longest id: they differ in the digits of an id only."""
    longest = max((len(unit["id"]) for unit in units), default=0)
    return _QUESTION_FRAME + _tokens_of_question(longest)


@cache
def _tokens_of_question(id_chars: int) -> int:
    return estimate_parts([orjson.dumps({"t": question_about("t" + "9" * (id_chars - 1))})])[0]
