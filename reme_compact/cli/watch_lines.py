"""How a watched job is shown: a line for each step; a bar instead, where a terminal can draw one."""

import os
import sys
from contextlib import AbstractContextManager
from importlib.util import find_spec
from types import TracebackType
from typing import Protocol, Self

from reme_compact.cli.output import complain
from reme_compact.cli.streams import is_terminal, standard_output
from reme_compact.cli.watched import Step, Watched

_CANNOT_REDRAW = frozenset({"", "dumb", "unknown"})


class Display(AbstractContextManager["Display"], Protocol):
    """Shows a job from when it is entered until it is left."""

    def show(self, step: Step, watched: Watched) -> None:
        """Show what happened last, and what all that happened adds up to."""

    def note(self, text: str) -> None:
        """Say something about the watching itself."""


def choose_display() -> Display:
    """Return a bar if standard output is a terminal that can draw one and rich is there, else lines."""
    if not is_terminal(sys.stdout) or os.environ.get("TERM", "") in _CANNOT_REDRAW or find_spec("rich") is None:
        return Lines()
    from reme_compact.cli.watch_bar import Bar  # noqa: PLC0415 - rich is optional, and slow

    return Bar()


class Lines:
    """Writes each step on a line of standard output."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave what was written."""

    def show(self, step: Step, watched: Watched) -> None:
        """Write a line, at once: it may be read as it comes."""
        if step.text:
            with standard_output() as stream:
                print(step.text, file=stream)

    def note(self, text: str) -> None:
        """Write to standard error."""
        complain(text)
