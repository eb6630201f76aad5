from typing import Any

import pytest

from reme_compact.cli.sent import understood
from reme_compact.contract.request import CompactionRequest


def test_a_request_of_the_contract_is_understood_whatever_its_messages() -> None:
    request = {**CompactionRequest.example, "messages": "of a newer format"}
    assert understood(request) is request


@pytest.mark.parametrize(
    "oddity",
    [
        {"eligible_tool_names": 5},
        {"source_refs": [1]},
        {"options": {"drop_threshold": "x"}},
        {"options": []},
        {"goal": 1},
        {"self": 1},
        {"\ud800": 1},
    ],
)
def test_a_request_that_only_another_service_takes_is_not(oddity: dict[str, Any]) -> None:
    assert understood({**CompactionRequest.example, **oddity}) is None
