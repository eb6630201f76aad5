"""A request with thousands of faults gets an explanation that can be read."""

import pytest
from histories import history, request_for

from reme_compact import CompactionRequest, InvalidRequestError


def test_only_the_first_problems_are_spelled_out() -> None:
    with pytest.raises(InvalidRequestError) as caught:
        CompactionRequest.parse({**request_for(history(1)), **{f"unknown_{n}": n for n in range(5000)}})
    assert len(caught.value.problems) == 21
    assert caught.value.problems[-1]["message"] == "and 4980 more problems"
    assert len(caught.value.message) < 10_000
