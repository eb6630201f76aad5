"""The values of a call's own keys, which may be written as those of a request: `key=@FILE`, `key=-`."""

from collections.abc import Iterable, Mapping

from reme_compact.cli.printable import shorten
from reme_compact.cli.source import find_source
from reme_compact.cli.source_text import read_text
from reme_compact.cli.usage import UsageError

_LITERAL = frozenset({"config", "output", "status", "job", "workers", "role", "pool"})
"""Keys whose value is one of a few words, or the path itself."""


def call_values(given: Mapping[str, str], literal: Iterable[str] = ()) -> dict[str, str]:
    """Read the values of keys; space around the content of a file or of standard input does not count.

    Args:
        given: keys and values as written.
        literal: further keys that are left as they are written.

    Raises:
        UsageError: a file cannot be read, or two keys want standard input.

    """
    check_one_reader(given)
    left = _LITERAL.union(literal)
    return {key: value if key in left else _value(key, value) for key, value in given.items()}


def check_one_reader(assignments: Mapping[str, str]) -> None:
    """Refuse two keys that both want standard input.

    Raises:
        UsageError: names both.

    """
    readers = [
        shorten(path, 80)
        for path, value in assignments.items()
        if path not in _LITERAL and find_source(value).kind == "standard_input"
    ]
    if len(readers) > 1:
        raise UsageError(f"{readers[1]}: standard input is already read for {readers[0]}; only one key can.")


def _value(key: str, value: str) -> str:
    source = find_source(value)
    text = read_text(key, source)
    return text if source.kind == "literal" else text.strip()
