"""The answer has exactly the fields of schema_version 2."""

from typing import Any

import pytest
from pydantic import ValidationError

from reme_compact.contract.result import CallDecision, CompactionResult, Response

DECISION: dict[str, Any] = {
    "id": "t1",
    "call_id": "c1",
    "action": "keep",
    "reason": "protected",
    "probability": None,
    "source_ref": None,
}
RESULT: dict[str, Any] = {
    "schema_version": 2,
    "messages": [{"role": "user", "content": []}],
    "decisions": [DECISION],
    "changed": False,
    "reason": "no_candidates",
    "budget_met": None,
    "stats": {"asked": 0, "usage": []},
}


def test_a_result_reads_back_as_it_was_written() -> None:
    assert CompactionResult.model_validate(RESULT).model_dump() == RESULT


def test_the_fields_are_fixed() -> None:
    assert set(CompactionResult.model_fields) == set(RESULT)
    assert set(CallDecision.model_fields) == set(DECISION)


@pytest.mark.parametrize(
    "reason",
    [
        "protected",
        "within_budget",
        "unobserved",
        "invalid_answer",
        "model_error",
        "timeout",
        "needed_or_uncertain",
        "no_savings",
        "low_relevance",
    ],
)
def test_every_decision_reason_is_known(reason: str) -> None:
    assert CallDecision.model_validate({**DECISION, "reason": reason}).reason == reason


@pytest.mark.parametrize("reason", ["budget_exceeded", "compacted", "no_candidates", "no_change"])
def test_every_result_reason_is_known(reason: str) -> None:
    assert CompactionResult.model_validate({**RESULT, "reason": reason}).reason == reason


@pytest.mark.parametrize(
    "wrong",
    [
        {"schema_version": 1},
        {"asked": 0},
        {"reason": "protected"},
        {"changed": None},
        {"stats": {"elapsed_ms": object()}},
        {"decisions": [{**DECISION, "call_id": 1}]},
        {"decisions": [{**DECISION, "action": "drop"}]},
        {"decisions": [{**DECISION, "reason": "compacted"}]},
        {"decisions": [{**DECISION, "detail": "x"}]},
        {"decisions": [{**DECISION, "probability": 1.5}]},
        {"decisions": [{**DECISION, "probability": float("nan")}]},
    ],
)
def test_anything_else_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        CompactionResult.model_validate({**RESULT, **wrong})


def test_the_envelope() -> None:
    assert Response(answer=RESULT).model_dump() == {"answer": RESULT, "success": True, "metadata": {}}
