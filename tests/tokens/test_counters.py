"""A host's counter is checked, blamed by type only, and given nothing it could damage."""

import copy
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from histories import histories
from hypothesis import given

from reme_compact.contract.errors import TokenCounterError
from reme_compact.history.private_copy import private_copy
from reme_compact.tokens.counters import call_counter, check_count


@pytest.mark.parametrize("count", [0, 1, 10**30])
def test_a_count_is_an_integer_from_zero_up(count: int) -> None:
    assert check_count(count) == count
    assert call_counter(lambda _: count, []) == count


@pytest.mark.parametrize("wrong", [True, False, -1, 1.0, 1.5, float("nan"), "5", None, [5], np.int64(5), np.float64(5)])
def test_anything_else_is_no_count(wrong: Any) -> None:
    with pytest.raises(TokenCounterError, match="token counter"):
        check_count(wrong)
    with pytest.raises(TokenCounterError):
        call_counter(lambda _: wrong, [])


@pytest.mark.parametrize(
    "error", [ValueError("private words"), KeyError("private words"), RecursionError("private words")]
)
def test_a_counter_that_raises_is_blamed_by_type_only(error: Exception) -> None:
    def raises(_: Any) -> int:
        raise error

    with pytest.raises(TokenCounterError, match=type(error).__name__) as caught:
        call_counter(raises, [])
    assert "private" not in caught.value.message
    assert caught.value.__cause__ is error


def _empty(value: Any) -> None:
    """Do the worst to JSON data that can be done through it."""
    for item in list(value.values() if isinstance(value, dict) else value):
        if isinstance(item, dict | list):
            _empty(item)
    value.clear()


@given(histories())
def test_a_private_copy_is_equal_and_shares_no_container(messages: list[dict[str, Any]]) -> None:
    before = copy.deepcopy(messages)
    copied = private_copy(messages)
    assert copied == before
    _empty(copied)
    assert messages == before


@pytest.mark.parametrize(
    "make",
    [
        lambda: [OrderedDict(role="user", content=[OrderedDict(type="text", text="x", more={"a": [1]})])],
        lambda: {"a": [[], {}, [[{"b": [1]}]]], "c": None},
    ],
)
def test_containers_of_other_kinds_are_copied_too(make: Callable[[], Any]) -> None:
    value, before = make(), make()
    _empty(private_copy(value))
    assert value == before


@pytest.mark.parametrize("value", ["text", 5, None, 1.5, True])
def test_what_cannot_change_is_not_copied(value: Any) -> None:
    assert private_copy(value) is value
