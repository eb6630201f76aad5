"""The keys of a request and the types of their values, taken from the models of the contract."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from reme_compact.contract.request import CompactionRequest

JOB = "compact_context"
"""The job whose request this is."""

Kind: TypeAlias = Literal["text", "integer", "number", "boolean", "object", "list", "any"]

_SCALARS: dict[Any, Kind] = {str: "text", int: "integer", float: "number", bool: "boolean"}
_KIND_WORDS: dict[Kind, str] = {
    "text": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "object": "JSON object",
    "list": "JSON list",
    "any": "JSON",
}
_LIMITS = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}


@dataclass(frozen=True, slots=True)
class Key:
    """One key that a request understands.

    Attributes:
        choices: the only texts that are accepted, if any.
        nullable: whether `null` is a value of its own. Never for text: there it is the word.
        children: the keys of an object with fixed keys.
        item: the value type of an object with free keys.

    """

    name: str
    kind: Kind
    choices: tuple[str, ...] = ()
    nullable: bool = False
    required: bool = False
    default: Any = None
    limits: str = ""
    description: str = ""
    children: "Mapping[str, Key]" = field(default_factory=dict)
    item: "Key | None" = None

    @property
    def type_words(self) -> str:
        """The type in words, with its limits."""
        words = f"one of {', '.join(self.choices)}" if self.choices else _KIND_WORDS[self.kind]
        if self.limits:
            words += f" {self.limits}"
        return f"{words}, or null" if self.nullable else words


@cache
def request_keys() -> Mapping[str, Key]:
    """Return the keys of a request, in the order of the contract."""
    return keys_of(CompactionRequest)


def keys_of(model: type[BaseModel]) -> dict[str, Key]:
    """Return the keys of a model."""
    return {name: _key_of(name, info) for name, info in model.model_fields.items()}


def _key_of(name: str, info: FieldInfo) -> Key:
    kind, nullable, owner, item = _read_type(info.annotation)
    return Key(
        name=name,
        kind=kind,
        choices=get_args(info.annotation) if kind == "text" and get_origin(info.annotation) is Literal else (),
        nullable=nullable and kind != "text",
        required=info.is_required(),
        default=None if owner is not None else info.get_default(call_default_factory=True, validated_data={}),
        limits=_limits(info.metadata),
        description=info.description or "",
        children=keys_of(owner) if owner is not None else {},
        item=item,
    )


def _read_type(annotation: Any) -> tuple[Kind, bool, type[BaseModel] | None, Key | None]:
    """Return kind, whether null is allowed, the model of an object, the value type of a mapping."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _read_type(arguments[0])
    if origin is Union or origin is UnionType:
        others = [argument for argument in arguments if argument is not NoneType]
        if len(others) == 1:
            kind, _, owner, item = _read_type(others[0])
            return kind, True, owner, item
        return "any", False, None, None
    if origin is Literal and all(isinstance(choice, str) for choice in arguments):
        return "text", False, None, None
    if annotation in _SCALARS:
        return _SCALARS[annotation], False, None, None
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "object", False, annotation, None
    if origin is dict:
        kind, nullable, _, _ = _read_type(arguments[1])
        return "object", False, None, Key(name="*", kind=kind, nullable=nullable and kind != "text")
    return ("list" if origin is list else "any"), False, None, None


def _limits(metadata: list[Any]) -> str:
    found = [
        f"{words} {limit:g}"
        for name, words in _LIMITS.items()
        for constraint in metadata
        if (limit := getattr(constraint, name, None)) is not None
    ]
    return " and ".join(found)
