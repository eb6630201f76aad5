"""What a history must look like to be compacted: AgentScope 2.x messages, or another format's, as JSON data."""

import math
from typing import Annotated, Any, TypeAlias

from pydantic import PlainValidator, ValidationInfo, WithJsonSchema

from reme_compact.contract.formats import FormatName

Block: TypeAlias = dict[str, Any]
"""One content block: `text`, `thinking`, `hint`, `tool_call`, `tool_result` or `data`, with any further fields."""

Message: TypeAlias = dict[str, Any]
"""One message `{id?, role, content: [block]}`, with any further fields."""

ROLES = ("user", "assistant", "system")

_ROLES_OF_OTHERS = ("tool", "developer", "function")
_OF_OTHER_FORMATS = frozenset({"tool_calls", "tool_call_id", "function_call", "call_id", "lc", "data", "summary"})
_SCALARS = frozenset({str, bool, type(None)})
_MAX_DEPTH = 200

_BLOCK_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "type": {"description": "text, thinking, hint, tool_call, tool_result or data; others are carried along."},
    },
    "additionalProperties": True,
}
_MESSAGES_SCHEMA: dict[str, Any] = {
    "type": "array",
    "minItems": 1,
    "items": {
        "anyOf": [
            {
                "title": "AgentScope message",
                "type": "object",
                "required": ["role", "content"],
                "properties": {
                    "id": {"description": "Text by which protected_message_ids can name the message."},
                    "role": {"enum": list(ROLES)},
                    "content": {"type": "array", "items": _BLOCK_SCHEMA},
                },
                "additionalProperties": True,
            },
            {"title": "Message or item of another format", "type": "object", "additionalProperties": True},
        ]
    },
}


def check_messages(value: Any) -> list[Message]:
    """Check the envelope of every message and that every value is JSON; copy nothing.

    Raises:
        ValueError: names the place and the fault.

    """
    if not isinstance(value, list):
        raise ValueError("must be a list of messages")
    if not value:
        raise ValueError("must hold at least one message")
    for index, message in enumerate(value):
        _check_message(message, f"[{index}]")
    return value


def check_history(value: Any, format_name: FormatName | None) -> list[Message]:
    """Check what can be said of a history before it is known how it is written, and of AgentScope's all of it.

    Raises:
        ValueError: names the place and the fault.

    """
    if format_name not in {None, "agentscope"}:
        return _check_objects(value)
    try:
        return check_messages(value)
    except ValueError:
        if format_name is not None or not (isinstance(value, list) and _hints_at_another_format(value)):
            raise
    return _check_objects(value)


def _check_objects(value: Any) -> list[Message]:
    if not isinstance(value, list):
        raise ValueError("must be a list of messages")
    if not value:
        raise ValueError("must hold at least one message")
    for index, message in enumerate(value):
        if not isinstance(message, dict):
            raise ValueError(f"[{index}]: must be an object")
        _check_json(message, f"[{index}]", _MAX_DEPTH)
    return value


def _hints_at_another_format(messages: list[Any]) -> bool:
    """Tell whether anything stands in a message that another format would explain."""
    return any(
        isinstance(message, dict)
        and (
            isinstance(message.get("content"), str)
            or not _OF_OTHER_FORMATS.isdisjoint(message)
            or message.get("role") in _ROLES_OF_OTHERS
        )
        for message in messages
    )


def _check_message(message: Any, path: str) -> None:
    if not isinstance(message, dict):
        hint = "; pass message.model_dump(mode='json')" if hasattr(message, "model_dump") else ""
        raise ValueError(f"{path}: must be an object{hint}")
    if message.get("role") not in ROLES:
        raise ValueError(f"{path}.role: must be 'user', 'assistant' or 'system'")
    content = message.get("content")
    if not isinstance(content, list):
        raise ValueError(f"{path}.content: must be a list of content blocks")
    for key, field in message.items():
        if key == "content":
            continue
        _check_key(key, path)
        if type(field) not in _SCALARS:
            _check_json(field, f"{path}.{key}", _MAX_DEPTH)
    for position, block in enumerate(content):
        if not isinstance(block, dict):
            raise ValueError(f"{path}.content[{position}]: must be a content block object")
        for key, field in block.items():
            if type(field) not in _SCALARS or type(key) is not str:
                _check_key(key, f"{path}.content[{position}]")
                _check_json(field, f"{path}.content[{position}].{key}", _MAX_DEPTH)


def _check_key(key: Any, path: str) -> None:
    if not isinstance(key, str):
        raise ValueError(f"{path}: keys must be text")


def _check_json(value: Any, path: str, depth: int) -> None:
    if depth == 0:
        raise ValueError(f"{path}: is nested too deeply (at most {_MAX_DEPTH} levels)")
    if isinstance(value, dict):
        for key, item in value.items():
            _check_key(key, path)
            if type(item) not in _SCALARS:
                _check_json(item, f"{path}.{key}", depth - 1)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            if type(item) not in _SCALARS:
                _check_json(item, f"{path}[{index}]", depth - 1)
    else:
        _check_scalar(value, path)


def _check_scalar(value: Any, path: str) -> None:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{path}: must be a finite number")
    elif isinstance(value, int):
        if not _can_be_written(value):
            raise ValueError(f"{path}: has too many digits")
    elif not isinstance(value, str) and value is not None:
        raise ValueError(f"{path}: must be JSON (found {type(value).__name__})")


def _can_be_written(value: int) -> bool:
    """Tell whether an integer keeps to the interpreter's limit of digits (4,300 unless set), as writing JSON must."""
    try:
        int.__repr__(value)
    except ValueError:
        return False
    return True


def _check_in_format(value: Any, info: ValidationInfo) -> list[Message]:
    return check_history(value, info.data.get("format"))


Messages = Annotated[list[Message], PlainValidator(_check_in_format), WithJsonSchema(_MESSAGES_SCHEMA)]
"""The history, in the format that the field `format` before it names, or in one that is found out later."""
