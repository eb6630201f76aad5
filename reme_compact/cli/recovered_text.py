"""Text out of an archive on its way to standard output: exactly as it is, or made safe for a terminal."""

import sys
from collections.abc import Iterable
from typing import Any, cast

from reme_compact.archive.reference import original_bytes
from reme_compact.cli.printable import printable
from reme_compact.cli.streams import is_terminal, standard_output


def write_original(texts: Iterable[str]) -> None:
    """Write texts that join: to a terminal printable and with a last line break, elsewhere byte for byte.

    Raises:
        BrokenPipeError: whoever reads standard output has stopped.
        OutputError: standard output cannot be written.

    """
    with standard_output() as stream:
        if stream is None:
            return
        if is_terminal(stream):
            shown = for_terminal("".join(texts))
            stream.write(shown if not shown or shown.endswith("\n") else f"{shown}\n")
            return
        for text in texts:
            cast("Any", stream).buffer.write(original_bytes(text))


def write_lines(lines: Iterable[tuple[int, str]]) -> int:
    """Write lines as they come, each after its offset, and return how many there were; raises as `write_original`."""
    count = 0
    with standard_output() as stream:
        to_terminal = is_terminal(sys.stdout)
        for offset, text in lines:
            count += 1
            if stream is None:
                continue
            if to_terminal:
                stream.write(f"{offset}:{for_terminal(text)}\n")
            else:
                cast("Any", stream).buffer.write(b"%d:%s\n" % (offset, original_bytes(text)))
    return count


def for_terminal(text: str) -> str:
    """Spell out what could steer a terminal, but leave tabs and the ends of lines, which cannot."""
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in text.replace("\r\n", "\n").split("\n"))
