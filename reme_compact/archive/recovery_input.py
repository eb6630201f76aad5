"""What the recovery tool is called with, checked; and the JSON schema that says so to a model."""

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from reme_compact.archive.pieces import DEFAULT_PIECE_CHARS, MOST_PIECE_CHARS
from reme_compact.contract.errors import InvalidRequestError
from reme_compact.contract.validation import problems_of

_DIGITS = re.compile(r"[0-9]{1,15}", re.ASCII)


def _whole_number(value: Any) -> Any:
    """Read a number that a model wrote as text, as many do."""
    return int(value) if isinstance(value, str) and _DIGITS.fullmatch(value) else value


def _at_most(value: Any) -> Any:
    """Give as much as there is at once to a model that asks for more."""
    return min(value, MOST_PIECE_CHARS) if type(value) is int else value


class RecoveryInput(BaseModel):
    """One call of the recovery tool."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    ref: str = Field(description="The reference: what stands after `Recover from:` in the last line of the output.")
    offset: Annotated[int, BeforeValidator(_whole_number)] = Field(
        default=0,
        ge=0,
        description="Where to begin, in characters of the original. The last line of an answer says how to go on.",
    )
    max_chars: Annotated[int, BeforeValidator(_at_most), BeforeValidator(_whole_number)] = Field(
        default=DEFAULT_PIECE_CHARS, ge=1, le=MOST_PIECE_CHARS, description="Most characters to return."
    )
    grep: str | None = Field(
        default=None,
        description="Return only the lines, from the offset on, in which this regular expression is found.",
    )


def read_recovery_input(arguments: Mapping[Any, Any] | str) -> RecoveryInput:
    """Check what a model calls the tool with; null counts as absent.

    Args:
        arguments: the arguments by name, or as the JSON text that some providers hand on.

    Raises:
        InvalidRequestError: names every argument that is unknown, missing or wrong.

    """
    if isinstance(arguments, str):
        arguments = _parsed(arguments)
    given = {str(name): value for name, value in arguments.items() if value is not None}
    try:
        return RecoveryInput.model_validate(given)
    except ValidationError as error:
        raise InvalidRequestError(problems_of(error, RecoveryInput)) from None


def recovery_parameters() -> dict[str, Any]:
    """Return the JSON schema of the tool's input."""
    schema = RecoveryInput.model_json_schema()
    properties = {
        name: {key: value for key, value in field.items() if key != "title"}
        for name, field in schema["properties"].items()
    }
    return {
        "type": "object",
        "properties": properties,
        "required": schema["required"],
        "additionalProperties": False,
    }


def _parsed(text: str) -> Mapping[Any, Any]:
    try:
        arguments = json.loads(text)
    except (ValueError, RecursionError):
        arguments = None
    if not isinstance(arguments, dict):
        raise InvalidRequestError([{"path": "", "message": "the arguments must be a JSON object"}])
    return arguments
