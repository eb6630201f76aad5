"""Options have the design's defaults and limits, and nothing is read as a number that is none."""

from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from reme_compact.contract.errors import InvalidRequestError
from reme_compact.contract.options import CompactionOptions
from reme_compact.contract.request import CompactionRequest

WHOLE_NUMBERS = [
    "preserve_recent_messages",
    "preserve_recent_pairs",
    "evidence_chars",
    "preview_chars",
    "max_state_tokens",
    "max_request_tokens",
    "max_output_tokens",
    "min_saved_tokens",
    "max_concurrency",
]
NUMBERS = ["drop_threshold", "total_timeout_seconds"]
ABOVE_ZERO = {
    "evidence_chars",
    "max_state_tokens",
    "max_request_tokens",
    "max_output_tokens",
    "min_saved_tokens",
    "max_concurrency",
}
NULLABLE = {"preserve_recent_pairs", "max_output_tokens", "min_saved_tokens"}


def _options(**options: Any) -> CompactionOptions:
    messages = [{"role": "user", "content": []}]
    return CompactionRequest.parse({"messages": messages, "options": options}).options


def _refused(field: str, value: Any) -> str:
    with pytest.raises(InvalidRequestError) as caught:
        _options(**{field: value})
    assert [problem["path"] for problem in caught.value.problems] == [f"options.{field}"]
    return caught.value.problems[0]["message"]


def test_defaults() -> None:
    assert _options().model_dump() == {
        "drop_threshold": 0.1,
        "preserve_recent_messages": 6,
        "preserve_recent_pairs": None,
        "evidence_chars": 2000,
        "preview_chars": 300,
        "max_state_tokens": 25000,
        "max_request_tokens": 30000,
        "max_output_tokens": None,
        "min_saved_tokens": None,
        "max_concurrency": 4,
        "total_timeout_seconds": 30,
    }


@pytest.mark.parametrize("field", [*WHOLE_NUMBERS, *NUMBERS])
@pytest.mark.parametrize(
    "value",
    [True, False, "1", "0.1", b"1", "", [1], {}, float("nan"), float("inf"), float("-inf"), Decimal(1), 1j, -1],
)
def test_what_is_no_number_in_range_is_refused(field: str, value: Any) -> None:
    assert _refused(field, value)


@pytest.mark.parametrize("field", WHOLE_NUMBERS)
@pytest.mark.parametrize("value", [1.0, 1.5, np.float64(2)])
def test_a_fraction_is_no_whole_number(field: str, value: float) -> None:
    assert _refused(field, value)


@pytest.mark.parametrize("field", [*WHOLE_NUMBERS, *NUMBERS])
def test_null_means_absent_only_where_it_is_a_default(field: str) -> None:
    if field in NULLABLE:
        assert getattr(_options(**{field: None}), field) is None
    else:
        assert _refused(field, None)


@pytest.mark.parametrize("field", WHOLE_NUMBERS)
def test_zero_is_allowed_where_it_means_something(field: str) -> None:
    if field in ABOVE_ZERO:
        assert _refused(field, 0)
    else:
        assert getattr(_options(**{field: 0}), field) == 0
    assert getattr(_options(**{field: 1}), field) == 1


@pytest.mark.parametrize("value", [0, 0.0, 1e-300, 0.1, 1, 1.0, np.float64(0.25)])
def test_a_threshold_is_any_number_from_0_to_1(value: float) -> None:
    assert _options(drop_threshold=value).drop_threshold == value


@pytest.mark.parametrize("value", [-1e-300, 1.0000001, 2, -0.1, 10**400])
def test_a_threshold_beyond_0_to_1_is_refused(value: float) -> None:
    assert _refused("drop_threshold", value)


@pytest.mark.parametrize("value", [0.001, 1, 3600])
def test_any_finite_time_above_zero_will_do(value: float) -> None:
    assert _options(total_timeout_seconds=value).total_timeout_seconds == value


@pytest.mark.parametrize("value", [0, -0.0, -1, 10**400])
def test_a_time_that_is_not_above_zero_or_not_finite_is_refused(value: float) -> None:
    assert _refused("total_timeout_seconds", value)


def test_concurrency_is_1_to_32() -> None:
    assert _options(max_concurrency=32).max_concurrency == 32
    assert _refused("max_concurrency", 33)


@pytest.mark.parametrize("field", WHOLE_NUMBERS)
def test_an_integer_of_5000_digits_is_only_a_large_number(field: str) -> None:
    if field == "max_concurrency":
        assert _refused(field, 10**5000)
    else:
        assert getattr(_options(**{field: 10**5000}), field) == 10**5000


def test_options_cannot_change_while_a_compaction_runs() -> None:
    with pytest.raises(ValueError, match="frozen"):
        _options().preview_chars = 1  # type: ignore[misc]
