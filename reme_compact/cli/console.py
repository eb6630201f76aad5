"""A rich console that leaves a broken pipe to the caller."""

from rich.console import Console


class OwnConsole(Console):
    """Draws; left to itself, rich would end the process with an error when nobody reads any more."""

    def on_broken_pipe(self) -> None:
        """Leave it to the caller."""
        raise BrokenPipeError
