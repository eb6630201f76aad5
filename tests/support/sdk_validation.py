"""Hold data against a provider SDK's own types."""

from collections.abc import Iterable
from typing import Any

from pydantic import TypeAdapter


def accepted(adapter: TypeAdapter[Any], value: Any) -> Any:
    """Return what a type makes of a value, with every part of it validated.

    Fields that the type does not know are missing from it; `Iterable` fields are checked only as they are read.

    Raises:
        ValidationError: the value is not of that type.
    """
    return _read_out(adapter.validate_python(value))


def _read_out(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _read_out(item) for key, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return [_read_out(item) for item in value]
    return value
