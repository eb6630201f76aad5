"""The mistakes a person can make on the command line."""

from reme_compact.contract.errors import ReMeError


class UsageError(ReMeError):
    """The command line cannot be understood; nothing was sent or started."""

    code = "usage_error"


def sentence(text: str) -> str:
    """End a text with a full stop, unless it ends a sentence already."""
    return text if text.endswith((".", "?", "!")) else f"{text}."
