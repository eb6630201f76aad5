"""Laying presets over each other, and telling which one decided a place."""

from reme_compact.presets.merge import Layer, merge, origin_of


def test_mappings_merge_deeply_and_the_later_wins() -> None:
    base = {"a": {"x": 1, "y": {"z": 1}}, "b": 1}
    merged = merge(base, {"a": {"y": {"w": 2}, "x": 2}, "c": 3})
    assert merged == {"a": {"x": 2, "y": {"z": 1, "w": 2}}, "b": 1, "c": 3}
    assert base == {"a": {"x": 1, "y": {"z": 1}}, "b": 1}


def test_lists_and_nulls_replace() -> None:
    assert merge({"a": [1, 2], "b": {"x": 1}}, {"a": [3], "b": None}) == {"a": [3], "b": None}


def test_the_origin_is_the_last_layer_that_holds_a_place() -> None:
    layers = [Layer("base", {"a": {"x": 1, "y": 2}}), Layer("mine", {"a": {"x": 2}, "l": [1]})]
    assert origin_of(("a", "x"), layers) == "mine"
    assert origin_of(("a", "y"), layers) == "base"
    assert origin_of(("l", 0, "deeper"), layers) == "mine"
    assert origin_of((), layers) == "mine"


def test_what_is_missing_is_charged_to_the_layer_that_began_it() -> None:
    layers = [Layer("base", {"a": {"x": 1}}), Layer("mine", {"a": {"y": 2}, "b": {}}), Layer("late", {"b": {"z": 1}})]
    assert origin_of(("a", "missing"), layers) == "base"
    assert origin_of(("b", "missing"), layers) == "mine"
