"""YAML that a preset does not need is refused before it can do harm."""

from typing import Any

import pytest
import yaml

from reme_compact.presets.yaml_loader import MOST_LEVELS, MOST_VALUES, Loader, RefusedYAMLError


def _load(text: str) -> Any:
    return yaml.load(text, Loader=Loader)  # noqa: S506 - a subclass of the safe loader


def _refusal(text: str) -> str:
    with pytest.raises(RefusedYAMLError) as caught:
        _load(text)
    return str(caught.value.problem)


@pytest.mark.parametrize(
    "text",
    [
        "!!int abc",
        '!!int ""',
        "!!int 4",
        "!!float x",
        "!!bool maybe",
        "!!timestamp 2020-13-45",
        "!!binary x",
        "!!set {a}",
        "!!str [a]: 1",
        "{!!str [a]: 1}",
        "a: !mine b",
        "a: ! b",
        "!<tag:yaml.org,2002:int> x",
        "!!python/object/apply:os.getcwd []",
    ],
)
def test_a_tag_is_refused_whatever_it_says(text: str) -> None:
    assert "tags" in _refusal(text)


def test_an_exclamation_mark_inside_text_is_text() -> None:
    assert _load("{a: b!c, d: '!!int 4'}") == {"a": "b!c", "d": "!!int 4"}


def _multiplied(first: str, following: str, *, levels: int) -> str:
    lines = [f"a0: &a0 {first}"]
    lines += [f"a{level}: &a{level} {following.replace('*', f'*a{level - 1}')}" for level in range(1, levels)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    "text",
    [
        _multiplied("[x,x,x,x,x,x,x,x,x,x]", "[*,*,*,*,*,*,*,*,*,*]", levels=9),
        _multiplied("{k: x}", "{a: *, b: *, c: *, d: *}", levels=20),
        _multiplied("{k: x}", "{<<: [*, *, *, *, *, *, *, *]}", levels=20),
        f"[{'x,' * MOST_VALUES}]",
    ],
    ids=["lists", "mappings", "merge keys", "no alias at all"],
)
def test_few_bytes_cannot_stand_for_endless_values(text: str) -> None:
    assert f"more than {MOST_VALUES} values" in _refusal(text)


def test_aliases_within_reason_work() -> None:
    text = _multiplied("[x,x]", "[*,*]", levels=9)
    assert str(_load(text)["a8"]).count("x") == 2**9


@pytest.mark.parametrize(
    "text",
    ["[" * 5000, "[" * (MOST_LEVELS + 1), _multiplied("[x]", "[*]", levels=MOST_LEVELS + 5)],
    ids=["thousands", "one too many", "by aliases"],
)
def test_endless_nesting_is_refused(text: str) -> None:
    assert "nested too deeply" in _refusal(text)


def test_as_many_levels_as_are_promised() -> None:
    assert _load("[" * MOST_LEVELS + "]" * MOST_LEVELS)


@pytest.mark.parametrize("text", ["&a [*a]", "&a {b: {c: *a}}", "&a {<<: *a}"])
def test_what_contains_itself_is_refused(text: str) -> None:
    assert _refusal(text) == "an alias stands inside what it stands for"


@pytest.mark.parametrize(
    "text", ["{a: 1, a: 2}", "{a: 1, 'a': 2}", "x: [{a: 1, a: 1}]", "{<<: {a: 1}, <<: {b: 2}}", "{<<: {a: 1, a: 2}}"]
)
def test_a_key_that_stands_twice_is_refused(text: str) -> None:
    assert _refusal(text) == "a key stands twice"


@pytest.mark.parametrize("text", ["1: x", "true: x", "null: x", "? [a]\n: x", "? {a: b}\n: x"])
def test_a_key_that_is_not_text_is_refused(text: str) -> None:
    assert _refusal(text) == "a key is not text"


@pytest.mark.parametrize(
    "text",
    [
        "deep: {deeper: {base: &base {<<: &first {x: 1, y: 1}, y: 2}}}\nmine: {<<: *base, x: 3}",
        "first: &first {x: 1, y: 1}\ndeep: {base: &base {<<: *first, y: 2}}\nmine: {<<: *base, x: 3}",
        "first: &first {x: 1, y: 1}\nlist: [&base {<<: *first, y: 2}]\nmine: {<<: [*base], x: 3}",
    ],
)
def test_own_keys_win_over_merged_ones_wherever_the_anchor_stands(text: str) -> None:
    assert _load(text)["mine"] == {"x": 3, "y": 2}


def test_of_what_is_merged_the_first_wins() -> None:
    assert _load("{<<: [{a: 1}, {a: 2, b: 2}], c: 3}") == {"a": 1, "b": 2, "c": 3}


@pytest.mark.parametrize("text", ["{<<: 1}", "{<<: [{a: 1}, x]}", "{<<: [[{a: 1}]]}"])
def test_only_mappings_can_be_merged(text: str) -> None:
    assert _refusal(text) == "a merge key takes a mapping or a list of mappings"


@pytest.mark.parametrize("text", [r'"\ud800"', r'{"\udfff": 1}', r'"\ud83d\ude00"'])
def test_a_lone_surrogate_is_refused(text: str) -> None:
    assert _refusal(text) == "a text holds a lone surrogate"
