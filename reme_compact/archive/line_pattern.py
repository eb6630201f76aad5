"""A regular expression that an agent or a user wrote: looked for within limits, whatever it says."""

import re
from math import prod
from time import monotonic

import regex

from reme_compact.contract.errors import InvalidRequestError

LONGEST_PATTERN = 1_000
"""Most characters of a pattern."""

_LARGEST_EXPANSION = 20_000
_ESCAPE = re.compile(r"\\.", re.DOTALL)
_PARTS = re.compile(r"\[\^?\]?[^\]]*\]?|[()+]|\{\d+")
_PARTS_ANYWHERE = re.compile(r"[(+]|\{\d+")
_NESTED_SET_OR_COMMENT = re.compile(r"\[[^\]]*\[|\(\?#")
_VERBOSE = re.compile(r"\(\?[A-Za-z0-9]*x")

_SHORT_LINE = 1_000
_SET = re.compile(r"\[\^?\]?[^\]]*\]")
_HARMLESS_START = re.compile(r"\(\?(?:i\)|:)")
_REPETITION = re.compile(r"[*+]|\{\d+(?:,\d*)?\}")
_MOST_CHOICES = 6


class LinePattern:
    """A pattern, and how long it may be looked for in all.

    Args:
        pattern: a regular expression as the package `regex` reads it.
        timeout_seconds: time for all its searches together.

    Raises:
        InvalidRequestError: it is no regular expression, or too large a one; at path `grep`.

    """

    def __init__(self, pattern: str, *, timeout_seconds: float) -> None:
        self._compiled = _compile(pattern)
        self._is_quick = _is_quick(pattern)
        self._remaining_seconds = timeout_seconds

    def find(self, text: str, start: int = 0) -> int | None:
        """Return where in a text the pattern is first found, at `start` or later; null: nowhere.

        Other threads run meanwhile.

        Raises:
            InvalidRequestError: all searches together take too long, or this one too much memory; at path `grep`.

        """
        if self._remaining_seconds <= 0:
            raise _refused("takes too long to look for; simplify it")
        # To watch the time takes several times as long as a search through a line does.
        limit = None if self._is_quick and len(text) <= _SHORT_LINE else self._remaining_seconds
        began = monotonic()
        try:
            found = self._compiled.search(text, start, timeout=limit, concurrent=True)
        except (TimeoutError, MemoryError):
            raise _refused("takes too long to look for; simplify it") from None
        self._remaining_seconds -= monotonic() - began
        return None if found is None else int(found.start())


def _compile(pattern: str) -> "regex.Pattern[str]":
    if len(pattern) > LONGEST_PATTERN:
        raise _refused(f"must be a regular expression of at most {LONGEST_PATTERN:,} characters")
    if _VERBOSE.search(pattern):
        raise _refused("must be a regular expression without the flag x")
    if _largest_expansion(pattern) > _LARGEST_EXPANSION:
        raise _refused("repeats too much in what is itself repeated; use smaller numbers, or fewer nested groups")
    try:
        return regex.compile(pattern, cache_pattern=False)
    except regex.error as error:
        raise _refused(f"is not a regular expression: {error}") from None
    except (ValueError, OverflowError, RecursionError, MemoryError):
        raise _refused("is not a regular expression that can be used") from None


def _largest_expansion(pattern: str) -> int:
    """Return how large a pattern can get at most when it is compiled, where time and stack are not limited.

    What has to be there n times is written out n times, and `x+` as `xx*`; so only repetitions in each other count.
    """
    # Two characters stand for an escape, so that nothing new is made of what stood before and after it.
    plain = _ESCAPE.sub("__", pattern)
    # Where sets are nested or there are comments, a parenthesis in them is not told from a group's: then none closes.
    parts = (_PARTS_ANYWHERE if _NESTED_SET_OR_COMMENT.search(plain) else _PARTS).findall(plain)
    depth = deepest = 0
    repetitions: list[int] = []
    for part in parts:
        if part == "(":
            depth += 1
            deepest = max(deepest, depth)
        elif part == ")":
            depth -= 1
        elif part == "+":
            repetitions.append(2)
        elif part.startswith("{"):
            repetitions.append(int(part[1:]) + 1)
    repetitions.sort(reverse=True)
    return len(pattern) * prod(repetitions[: deepest + 1])


def _is_quick(pattern: str) -> bool:
    """Tell whether looking through one short line takes a fraction of a second at most.

    So it is with few alternatives and one repetition at most, which is not a group's. There is no need to tell of
    other patterns.
    """
    plain = _ESCAPE.sub("_", pattern)
    if _NESTED_SET_OR_COMMENT.search(plain):
        return False
    plain = _HARMLESS_START.sub("(", _SET.sub("_", plain))
    repetitions = len(_REPETITION.findall(plain))
    plain = _REPETITION.sub("*", plain)
    if repetitions > 1 or ")*" in plain or "{" in plain or "(?" in plain:
        return False
    return plain.count("|") + plain.count("?") <= _MOST_CHOICES


def _refused(message: str) -> InvalidRequestError:
    return InvalidRequestError([{"path": "grep", "message": message}])
