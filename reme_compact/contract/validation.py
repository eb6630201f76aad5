"""Turn pydantic's findings into problems that name the path, the fault and the nearest valid key."""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from reme_compact.contract.errors import FieldProblem


def dotted(location: Sequence[int | str]) -> str:
    """Write a location as people do: `messages[3].content`."""
    path = ""
    for part in location:
        if isinstance(part, int):
            path += f"[{part}]"
        else:
            name = short(part)
            path += f".{name}" if path else name
    return path


def short(name: str) -> str:
    """Cut a name that somebody sent to what a message can hold, and make it printable."""
    cut = name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"
    return cut.encode("utf-8", "backslashreplace").decode()


def unknown_key(key: str, known: Sequence[str]) -> str:
    """Say that a key is unknown, and which known key it resembles."""
    return unknown_name("key", key, known)


def unknown_name(kind: str, name: str, known: Sequence[str]) -> str:
    """Say that a name is unknown, and which known name it resembles; `kind` is what it names, in the singular."""
    close = difflib.get_close_matches(name[:_LONGEST_NAME].lower(), known, n=1)
    if close:
        return f"unknown {kind}; did you mean '{close[0]}'?"
    return f"unknown {kind}; known {kind}s are {', '.join(sorted(known))}" if known else f"unknown {kind}"


_LONGEST_NAME = 80

_WORDING = {
    "missing": "is required",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "must be a whole number of fewer digits",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "string_type": "must be text",
    "string_unicode": "must be text without lone surrogates",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "literal_error": "must be {expected}",
}
"""Pydantic's findings in the words that every other message of ours uses."""

PROBLEMS_AT_MOST = 20
"""Problems that are spelled out; a request with thousands of wrong keys is not worth thousands of explanations."""


def problems_of(error: ValidationError, model: type[BaseModel]) -> list[FieldProblem]:
    """List what pydantic found wrong, without the offending values (they may be private)."""
    found = error.errors(include_url=False, include_input=False)
    problems = [_problem(dotted(item["loc"]), _explain(item, model)) for item in found[:PROBLEMS_AT_MOST]]
    if len(found) > PROBLEMS_AT_MOST:
        problems.append({"path": "", "message": f"and {len(found) - PROBLEMS_AT_MOST} more problems"})
    return problems


def _problem(path: str, message: str) -> FieldProblem:
    """Move a path that a validator of ours put before its message to where paths belong."""
    if message.startswith("["):
        inner, _, message = message.partition(": ")
        path += inner
    return {"path": path, "message": message}


def _explain(item: Any, model: type[BaseModel]) -> str:
    kind: str = item["type"]
    if kind == "extra_forbidden":
        owner = _model_at(model, item["loc"][:-1])
        return unknown_key(str(item["loc"][-1]), list(owner.model_fields) if owner else [])
    if kind in _WORDING:
        limits = {name: _plain(value) for name, value in item.get("ctx", {}).items()}
        return _WORDING[kind].format(**limits)
    message: str = item["msg"]
    return message.removeprefix("Value error, ").removeprefix("Assertion failed, ")


def _plain(value: Any) -> Any:
    """Write a limit as people do: 300 instead of 300.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _model_at(model: type[BaseModel], location: Sequence[int | str]) -> type[BaseModel] | None:
    """Follow a location through nested models, lists, mappings and unions to the model that owns it."""
    current: type[BaseModel] | None = model
    kind: Any = model
    for part in location:
        if current is not None and isinstance(part, str) and part in current.model_fields:
            kind = current.model_fields[part].annotation
        else:
            kind = _element(kind)
        current = next(_models_in(kind), None)
    return current


def _element(kind: Any) -> Any:
    """Return the value type of a mapping or the element type of a list."""
    for option in _options(kind):
        origin, arguments = get_origin(option), get_args(option)
        if isinstance(origin, type) and arguments and issubclass(origin, Mapping | Sequence):
            return arguments[-1]
    return kind


def _options(kind: Any) -> tuple[Any, ...]:
    arguments = get_args(kind)
    is_union = get_origin(kind) is Union or type(kind).__name__ == "UnionType"
    return arguments if is_union else (kind,)


def _models_in(kind: Any) -> Iterator[type[BaseModel]]:
    for option in _options(kind):
        if isinstance(option, type) and issubclass(option, BaseModel):
            yield option
