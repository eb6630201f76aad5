"""Names of test parameters."""

import re


def stable_name(value: object) -> str:
    """Return the representation of a value without an address in it, so that every process names a test alike."""
    return re.sub(" at 0x[0-9a-f]+", "", repr(value))
