"""Small states for the tests of the local decision model."""

from typing import Any

FILLER = "The cafeteria menu of the week lists soups, salads and a vegetarian dish for every weekday. " * 6


def unit(unit_id: str, result: str, tool_input: str = "{}", tool: str = "read_file", **facts: Any) -> dict[str, Any]:
    return {
        "id": unit_id,
        "tool": tool,
        "input": tool_input,
        "input_complete": True,
        "result": result,
        "result_complete": True,
        "result_chars": len(result),
        **facts,
    }


def state(
    *units: dict[str, Any], goal: str | None = None, next_action: str | None = None, **more: Any
) -> dict[str, Any]:
    known = {"goal": goal, "next_action": next_action}
    return {
        **{key: text for key, text in known.items() if text is not None},
        "task_context": [],
        "task_context_complete": True,
        "evidence_units": list(units),
        **more,
    }
