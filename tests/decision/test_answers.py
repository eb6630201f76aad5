"""Only a finite number from 0 to 1 in a binary answer is a probability."""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from parameters import stable_name
from pydantic import BaseModel

from reme_compact.decision.answers import probability_of, usage_of
from reme_compact.decision.protocol import BinaryAnswer


def _forms(value: Any, kind: str = "binary_answer") -> list[Any]:
    fields = {"type": kind, "probability": value}
    return [fields, SimpleNamespace(**fields)]


@pytest.mark.parametrize("value", [0, 1, 0.0, 1.0, 0.1, 5e-324, -0.0, np.float64(0.25), np.float32(0.5), np.int64(1)])
def test_a_number_from_0_to_1(value: Any) -> None:
    for answer in _forms(value):
        found = probability_of(answer)
        assert found == float(value)
        assert type(found) is float


@pytest.mark.parametrize(
    "value",
    [
        True,
        False,
        np.bool_(True),
        "0.05",
        "0",
        b"0",
        None,
        float("nan"),
        float("inf"),
        float("-inf"),
        np.float64("nan"),
        1.5,
        1.0000001,
        -0.0000001,
        2,
        -1,
        10**400,
        [0.05],
        {"value": 0.05},
        np.array([0.05]),
        1j,
        0j,
        Decimal("0.05"),
        Decimal("NaN"),
        object(),
    ],
    ids=stable_name,
)
def test_anything_else_is_none(value: Any) -> None:
    for answer in _forms(value):
        assert probability_of(answer) is None


def test_a_fraction_is_a_number() -> None:
    assert probability_of({"type": "binary_answer", "probability": Fraction(1, 4)}) == 0.25


@pytest.mark.parametrize("kind", ["refusal", "refusal_answer", "choice_answer", "binary", "Binary_Answer", "", None, 1])
def test_another_kind_of_answer_is_none_even_with_a_probability(kind: Any) -> None:
    for answer in _forms(0.05, kind):
        assert probability_of(answer) is None


@pytest.mark.parametrize(
    "answer",
    [
        None,
        0.05,
        "0.05",
        True,
        [],
        {},
        {"probability": 0.05},
        {"type": "binary_answer"},
        {"type": "refusal", "refusal": "I cannot"},
        {"type": "choice_answer", "choice": "yes", "probabilities": {"yes": 0.05}},
        SimpleNamespace(probability=0.05),
        SimpleNamespace(type="binary_answer"),
        SimpleNamespace(type="refusal", reason="no"),
        object(),
    ],
    ids=stable_name,
)
def test_an_answer_without_kind_or_probability_is_none(answer: Any) -> None:
    assert probability_of(answer) is None


def test_our_own_answer() -> None:
    assert probability_of(BinaryAnswer(0.25)) == 0.25


class _Raises:
    type = "binary_answer"

    @property
    def probability(self) -> float:
        raise RuntimeError("private")


class _RaisesLater(float):
    def __float__(self) -> float:
        raise RuntimeError("private")


class _NoMapping(dict[str, Any]):
    def get(self, key: str, default: Any = None) -> Any:
        raise RuntimeError(key, default)


@pytest.mark.parametrize(
    "answer",
    [_Raises(), {"type": "binary_answer", "probability": _RaisesLater(0.5)}, _NoMapping(), {"type": np.array([1, 2])}],
    ids=["attribute", "number", "mapping", "kind"],
)
def test_an_answer_that_raises_when_it_is_read_spoils_nothing_else(answer: Any) -> None:
    assert probability_of(answer) is None


@dataclass
class _Usage:
    input_tokens: int
    details: dict[str, Any]


class _UsageModel(BaseModel):
    input_tokens: int = 3


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, None),
        ({"input_tokens": 3, "more": [1, {"a": None}]}, {"input_tokens": 3, "more": [1, {"a": None}]}),
        (_Usage(3, {"cached": 1}), {"input_tokens": 3, "details": {"cached": 1}}),
        (_UsageModel(), {"input_tokens": 3}),
        ({1: 2}, {"1": 2}),
        (7, 7),
    ],
)
def test_usage_becomes_json(usage: Any, expected: Any) -> None:
    assert usage_of(usage) == expected


def test_usage_is_a_copy() -> None:
    usage = {"details": [1]}
    found = usage_of(usage)
    usage["details"].append(2)
    assert found == {"details": [1]}


def _endless() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    "usage",
    [
        object(),
        {"tokens": float("nan")},
        {"tokens": {1, 2}},
        {(1, 2): 3},
        _endless(),
        b"3",
        _Usage,
        _Usage(1, {"a": object()}),
    ],
    ids=["object", "nan", "set", "key", "endless", "bytes", "class", "field"],
)
def test_usage_that_is_no_json_is_a_value_error(usage: Any) -> None:
    with pytest.raises(ValueError, match="not JSON"):
        usage_of(usage)
