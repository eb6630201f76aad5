"""Read `Prefer: wait=N` (RFC 7240): how long a client would rather wait than come back."""

from collections.abc import Iterable
from urllib.request import parse_http_list

_MOST_DIGITS = 9


def preferred_wait(headers: Iterable[str], at_most: float) -> float | None:
    """Return how many seconds to wait, or null if the client does not say, or not in a way that can be read.

    A preference never fails a request. The first `wait` counts, as the RFC wants.

    Args:
        headers: the values of all `Prefer` headers.
        at_most: a longer wait is shortened to this many seconds.

    """
    for header in headers:
        for preference in parse_http_list(header):
            name, _, value = preference.partition(";")[0].partition("=")
            if name.strip().lower() == "wait":
                return _seconds(value.strip().strip('"'), at_most)
    return None


def preference_applied(seconds: float) -> str:
    """Write the value of `Preference-Applied`."""
    return f"wait={seconds:g}"


def _seconds(digits: str, at_most: float) -> float | None:
    if not (digits.isascii() and digits.isdecimal()):
        return None
    return at_most if len(digits.lstrip("0")) > _MOST_DIGITS else min(int(digits[-_MOST_DIGITS:]), at_most)
