"""A progress bar for a watched job."""

import sys
from types import TracebackType
from typing import Self

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from reme_compact.cli.console import OwnConsole
from reme_compact.cli.output import complain
from reme_compact.cli.streams import standard_output
from reme_compact.cli.watched import Step, Watched


class Bar:
    """Draws on the terminal that standard output is; what is remarkable stays as lines above the bar."""

    def __init__(self) -> None:
        console = OwnConsole(file=sys.stdout, highlight=False, markup=False, emoji=False)
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.fields[share]}", markup=False),
            TimeElapsedColumn(),
            console=console,
        )
        self._task = self._progress.add_task("waiting", total=None, share="")

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the bar as it was drawn last."""
        self._progress.stop()

    def show(self, step: Step, watched: Watched) -> None:
        """Move the bar, and write what is remarkable above it; the end stands below."""
        is_measured = watched.asked is not None or bool(watched.status)
        total = max(watched.asked or 0, 1) if is_measured else None
        completed = watched.scored if total is None or watched.status != "succeeded" else total
        share = f"{watched.scored}/{watched.asked}" if watched.asked else ""
        self._progress.update(self._task, description=watched.phase, total=total, completed=completed, share=share)
        if watched.status:
            self._progress.stop()
            with standard_output() as stream:
                print(step.text, file=stream)
        elif step.is_remarkable:
            self._progress.console.print(step.text)

    def note(self, text: str) -> None:
        """Write to standard error, above the bar if that is the same terminal."""
        complain(text)
