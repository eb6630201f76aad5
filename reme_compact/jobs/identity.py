"""Names of jobs: unguessable, and in the order of their creation."""

import re
import secrets
from datetime import datetime

_PATTERN = re.compile(r"[0-9a-f]{12}-[0-9a-f]{20}")


def new_job_id(now: datetime) -> str:
    """Name a job that is accepted now: milliseconds since 1970 in hexadecimal, then 80 random bits."""
    return f"{int(now.timestamp() * 1000):012x}-{secrets.token_hex(10)}"


def is_job_id(text: str) -> bool:
    """Tell whether a text can be the name of a job; what cannot need not be looked for."""
    return _PATTERN.fullmatch(text) is not None
