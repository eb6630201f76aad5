"""What commands about jobs write to standard output: text for people, or the service's JSON."""

import sys
from collections.abc import Sequence
from typing import Any, cast

from reme_compact.cli.encoding import to_json
from reme_compact.cli.streams import is_terminal, standard_output
from reme_compact.cli.usage import UsageError


def choose_format(requested: str | None, formats: Sequence[str]) -> str:
    """Decide what goes to standard output, before any work is done.

    Args:
        requested: what `output=` says; null: the first on a terminal, else the last.
        formats: those that there are.

    Raises:
        UsageError: there is no such format.

    """
    if requested is None:
        return formats[0 if is_terminal(sys.stdout) else -1]
    if requested not in formats:
        raise UsageError(f"output: must be {' or '.join(formats)}.")
    return requested


def write_text(text: str, *, lost: str = "") -> None:
    """Write lines to standard output; `lost` as for `standard_output`.

    Raises:
        BrokenPipeError: whoever reads standard output has stopped.
        OutputError: standard output cannot be written.

    """
    with standard_output(lost) as stream:
        print(text, file=stream)


def write_json(value: Any, *, lost: str = "") -> None:
    """Write plain data to standard output, as JSON on one line; `lost` as for `standard_output`.

    Raises:
        BrokenPipeError: whoever reads standard output has stopped.
        OutputError: standard output cannot be written.

    """
    with standard_output(lost) as stream:
        if stream is not None:
            cast("Any", stream).buffer.write(to_json(value).encode() + b"\n")
