"""Compact a simple history with a decision model, and read what was decided."""

from typing import Any

from histories import history, request_for

from reme_compact import CompactContextStep

ONE_UNIT_EACH = {"max_state_tokens": 1500, "max_concurrency": 2}


async def compact(model: Any, pairs: int = 3, **options: Any) -> dict[str, Any]:
    answer: dict[str, Any] = (
        await CompactContextStep(as_decision_model=model)(**request_for(history(pairs), options=options))
    ).answer
    return answer


def reasons(answer: dict[str, Any]) -> list[str]:
    return [decision["reason"] for decision in answer["decisions"]]
