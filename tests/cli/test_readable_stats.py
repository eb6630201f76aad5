from typing import Any

import pytest

from reme_compact.cli.readable_stats import readable_stats


def test_what_is_as_it_should_be_is_kept(response: dict[str, Any]) -> None:
    assert readable_stats(response["answer"]) == response["answer"]["stats"]


@pytest.mark.parametrize("stats", [None, [], "x", 1, [{"errors": []}]])
def test_statistics_that_are_no_object_say_nothing(stats: Any) -> None:
    assert readable_stats({"stats": stats}) == {}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("errors", 3),
        ("errors", {"code": "x"}),
        ("warnings", 1),
        ("warnings", "text"),
        ("details", []),
        ("explanations", "x"),
        ("protected_by", [{}]),
        ("token_counter", "estimate"),
        ("chars_before", True),
        ("chars_after", -1),
        ("tokens_before", 1.5),
        ("tokens_after", 10**400),
        ("requests", {}),
        ("asked", "3"),
        ("elapsed_ms", 10**400),
        ("elapsed_ms", False),
    ],
)
def test_an_entry_of_another_shape_is_left_out(name: str, value: Any) -> None:
    assert readable_stats({"stats": {name: value, "candidates": 2}}) == {"candidates": 2}
