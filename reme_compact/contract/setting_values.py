"""Types of setting values, which may be YAML or, from the environment, plain text.

The field's type decides how text is read: "8080" is a number where a number is meant and stays text elsewhere.
A boolean is never a number, and blank text is the absence of text.
"""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, SecretStr


def _not_a_switch(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("must be a number, not true or false")
    return value


def _blank_is_absent(value: Any) -> Any:
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, SecretStr) and not value.get_secret_value().strip():
        return None
    return value


Whole = Annotated[int, BeforeValidator(_not_a_switch)]
"""A whole number; also as text."""

Seconds = Annotated[float, BeforeValidator(_not_a_switch), Field(allow_inf_nan=False)]
"""A finite number of seconds; also as text."""

BlankIsAbsent = BeforeValidator(_blank_is_absent)
"""Reads blank text as null, and drops white space around any other text."""
