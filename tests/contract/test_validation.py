"""Findings of pydantic become paths and words that a person can act on."""

from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from reme_compact.contract.validation import dotted, problems_of, unknown_key


class _Leaf(BaseModel):
    model_config = ConfigDict(extra="forbid")

    colour: str = "red"

    @field_validator("colour")
    @classmethod
    def _known(cls, value: str) -> str:
        if value == "private":
            raise ValueError("must be a colour")
        return value


class _Tree(BaseModel):
    model_config = ConfigDict(extra="forbid")

    height: int
    leaf: _Leaf = Field(default_factory=_Leaf)
    leaves: list[_Leaf] = Field(default_factory=list)
    by_name: dict[str, _Leaf] = Field(default_factory=dict)
    maybe: _Leaf | None = None
    maybe_many: dict[str, list[_Leaf]] | None = None


def _problems(**fields: Any) -> dict[str, str]:
    with pytest.raises(ValidationError) as caught:
        _Tree.model_validate({"height": 1, **fields})
    return {problem["path"]: problem["message"] for problem in problems_of(caught.value, _Tree)}


@pytest.mark.parametrize(
    ("location", "path"),
    [((), ""), (("a",), "a"), (("a", 3, "b"), "a[3].b"), ((0, "b", "c"), "[0].b.c"), (("a", 1, 2), "a[1][2]")],
)
def test_a_path_is_written_as_people_write_it(location: tuple[int | str, ...], path: str) -> None:
    assert dotted(location) == path


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"leaf": {"color": "x"}}, "leaf.color"),
        ({"leaves": [{}, {"color": "x"}]}, "leaves[1].color"),
        ({"by_name": {"oak": {"color": "x"}}}, "by_name.oak.color"),
        ({"maybe": {"color": "x"}}, "maybe.color"),
        ({"maybe_many": {"oak": [{"color": "x"}]}}, "maybe_many.oak[0].color"),
    ],
)
def test_an_unknown_key_is_compared_with_the_keys_of_its_own_level(fields: dict[str, Any], path: str) -> None:
    assert _problems(**fields) == {path: "unknown key; did you mean 'colour'?"}


def test_a_missing_key_is_required() -> None:
    with pytest.raises(ValidationError) as caught:
        _Tree.model_validate({})
    assert problems_of(caught.value, _Tree) == [{"path": "height", "message": "is required"}]


def test_a_validator_speaks_for_itself_and_the_value_is_not_quoted() -> None:
    assert _problems(leaf={"colour": "private"}) == {"leaf.colour": "must be a colour"}
    assert "private" not in str(_problems(height="private"))


def test_capitals_do_not_hide_a_likeness() -> None:
    assert unknown_key("COLOUR", ["colour", "height"]) == "unknown key; did you mean 'colour'?"


def test_without_a_likeness_all_known_keys_are_named() -> None:
    assert unknown_key("zzz", ["b", "a"]) == "unknown key; known keys are a, b"
    assert unknown_key("zzz", []) == "unknown key"
