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
            path += f".{part}" if path else part
    return path


def unknown_key(key: str, known: Sequence[str]) -> str:
    """Say that a key is unknown, and which known key it resembles."""
    close = difflib.get_close_matches(key.lower(), known, n=1)
    if close:
        return f"unknown key; did you mean '{close[0]}'?"
    return f"unknown key; known keys are {', '.join(sorted(known))}" if known else "unknown key"


PROBLEMS_AT_MOST = 20
"""Problems that are spelled out; a request with thousands of wrong keys is not worth thousands of explanations."""


def problems_of(error: ValidationError, model: type[BaseModel]) -> list[FieldProblem]:
    """List what pydantic found wrong, without the offending values (they may be private)."""
    found = error.errors(include_url=False, include_input=False, include_context=False)
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
    if kind == "missing":
        return "is required"
    message: str = item["msg"]
    return message.removeprefix("Value error, ").removeprefix("Assertion failed, ")


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
