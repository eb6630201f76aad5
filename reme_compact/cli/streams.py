"""The standard streams, which may be closed, full, or read by nobody."""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from reme_compact.contract.errors import ReMeError


class OutputError(ReMeError):
    """What was asked for was made, but could not be written.

    Args:
        cause: why, in a few words.
        lost: a sentence about what that means, if it means more than that nothing is seen.

    """

    code = "output_failed"

    def __init__(self, cause: str, lost: str = "") -> None:
        super().__init__(f"Standard output cannot be written ({cause}).{lost and ' '}{lost}")


def occupy_closed_streams() -> None:
    """Open descriptors 0 to 2 where they are closed, so that no file or socket of ours is taken for a stream."""
    with suppress(OSError):
        for number in range(3):
            try:
                os.fstat(number)
            except OSError:
                os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free


@contextmanager
def standard_output(lost: str = "") -> Iterator[TextIO | None]:
    """Give standard output, null if it is closed, to be written to; what its encoding lacks becomes `?`.

    Args:
        lost: what to say, in a sentence, if nobody gets what is written; for what exists only once. Empty: a reader
            that has stopped wants no more, and a closed output nothing.

    Raises:
        BrokenPipeError: whoever reads standard output has stopped, and nothing is lost by that.
        OutputError: standard output cannot be written, for instance because a disk is full.

    """
    if lost and sys.stdout is None:
        raise OutputError("it is closed", lost)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    try:
        yield sys.stdout
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        _silence(sys.stdout)
        if lost:
            raise OutputError("nobody reads it any more", lost) from None
        raise
    except OSError as error:
        _silence(sys.stdout)
        raise OutputError(error.strerror or type(error).__name__, lost) from None


def write_error(text: str) -> None:
    """Write text to standard error; if that fails nobody is told, and nothing else changes."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        _silence(sys.stderr)


def settle_streams() -> None:
    """Write out what is left, or drop it: left to itself, the interpreter would change the exit status over it."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            _silence(stream)


def is_terminal(stream: TextIO | None) -> bool:
    """Tell whether a stream is open and a terminal."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False


def _silence(stream: TextIO) -> None:
    """Let everything that is still to be written vanish."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
