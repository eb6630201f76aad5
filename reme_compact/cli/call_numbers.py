"""Numbers among the keys of a command, which are not those of a request."""

from reme_compact.cli.request_keys import Key
from reme_compact.cli.usage import UsageError
from reme_compact.cli.values import convert

LONGEST_SECONDS = 1e6


def seconds(name: str, text: str) -> float:
    """Read a time.

    Raises:
        UsageError: it is none, or none that can be waited for.

    """
    value: float = convert(name, Key(name=name, kind="number"), text)
    if not 0 < value <= LONGEST_SECONDS:
        raise UsageError(f"{name}: must be a number of seconds above 0, at most {LONGEST_SECONDS:,.0f}.")
    return value


def whole(name: str, text: str, least: int, most: int) -> int:
    """Read a whole number between two others, which it may be.

    Raises:
        UsageError: it is none, or is not between them.

    """
    value: int = convert(name, Key(name=name, kind="integer"), text)
    if not least <= value <= most:
        raise UsageError(f"{name}: must be a whole number from {least} to {most}.")
    return value
