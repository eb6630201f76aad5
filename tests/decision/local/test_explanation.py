"""Each judgement of the local model comes with a reason that a person can check."""

import pytest
from histories import call, long_text, message, request_for, result, text

from reme_compact import CompactContextStep

pytestmark = pytest.mark.anyio


async def test_reasons_stand_in_the_statistics_and_quote_nothing() -> None:
    source = long_text("def charge(order)", 3000)
    messages = [
        message("user", text("Retries charge twice")),
        message("assistant", call("old", tool_input='{"path": "retry.py"}'), result("old", source)),
        message(
            "assistant",
            call("other", "shell", '{"command": "ls"}'),
            result("other", long_text("weather icon"), "shell"),
        ),
        message("assistant", call("new", tool_input='{"path": "retry.py"}'), result("new", source)),
    ]
    request = {**request_for(messages, options={"preserve_recent_pairs": 1}), "next_action": "Edit retry.py"}
    stats = (await CompactContextStep()(**request)).answer["stats"]
    assert stats["explanations"].keys() == {"t1", "t2"}
    assert "newer result for the same input" in stats["explanations"]["t1"]
    assert "less with the task" in stats["explanations"]["t2"]
    assert "weather" not in str(stats["explanations"])
