"""Tell where an exception came from without its text, which may hold message content."""

import traceback
from pathlib import PurePath

_MOST_FRAMES = 12


def exception_places(error: BaseException) -> str:
    """Name an exception's kind and the innermost places it passed, and the same of what it was raised from."""
    told: list[str] = []
    current: BaseException | None = error
    while current is not None and len(told) < _MOST_FRAMES:
        told.append(_one(current))
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
    return "; raised from ".join(told)


def _one(error: BaseException) -> str:
    kind = type(error).__name__
    if isinstance(error, BaseExceptionGroup):
        kind += "[" + ", ".join(_one(member) for member in error.exceptions) + "]"
    frames = [
        f"{PurePath(frame.f_code.co_filename).name}:{line} {frame.f_code.co_name}"
        for frame, line in traceback.walk_tb(error.__traceback__)
    ]
    return f"{kind} at {' > '.join(frames[-_MOST_FRAMES:])}" if frames else kind
