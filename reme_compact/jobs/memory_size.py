"""What a job takes in memory, estimated from what is kept of it.

The length of a body says little: three bytes (`{},`) become a dict of 64, and one rare character makes every
character of a long text take four.
"""

from sys import getsizeof
from typing import Any

from reme_compact.contract.request import CompactionRequest

BYTES_PER_JOB = 4096
"""A job without its request, outcomes and result: its record, its first events, its places in the lists."""

BYTES_PER_BATCH = 512
"""What a scored batch leaves behind, above all its event."""

BYTES_PER_VERDICT = 256
"""A verdict on one unit, kept while the job runs."""

_KNOWN_KEYS = 1000
_SHARED_NUMBERS = range(-5, 257)


def memory_of(request: CompactionRequest) -> int:
    """Return how many bytes a parsed request takes, at least four fifths and seldom more than the truth.

    It looks at every value, which takes less time than parsing did: a large request belongs into a worker thread.
    Keys are kept once per document, as parsers do, so the first different ones are counted once.
    """
    total = 0
    known_keys: set[str] = set()
    waiting: list[Any] = [vars(request)]
    while waiting:
        value = waiting.pop()
        kind = type(value)
        if kind is dict:
            for key in value:
                if key not in known_keys:
                    total += getsizeof(key)
                    if len(known_keys) < _KNOWN_KEYS:
                        known_keys.add(key)
            waiting.extend(value.values())
        elif kind is list:
            waiting.extend(value)
        elif _is_shared(value):
            continue
        total += getsizeof(value)
    return total


def _is_shared(value: Any) -> bool:
    """Tell whether the interpreter keeps a single instance of a value."""
    kind = type(value)
    if kind is str:
        return len(value) < 2 and value.isascii()
    return value is None or kind is bool or (kind is int and value in _SHARED_NUMBERS)
