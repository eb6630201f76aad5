"""A proposal in another format is shown like any other."""

import io
import json

import pytest
from models import always
from written_formats import WRITINGS, chat_of, request_of

from reme_compact import CompactContextStep
from reme_compact.cli.answer import flaw_of
from reme_compact.cli.decision_lines import decision_lines
from reme_compact.cli.report import print_report

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("writing", WRITINGS)
async def test_the_report_names_the_tools(writing: str) -> None:
    request = request_of(chat_of(3), writing)
    response = json.loads(json.dumps(dict(await CompactContextStep(as_decision_model=always(0.0))(**request))))
    assert flaw_of(response) is None
    lines = decision_lines(response["answer"], 0.1)
    assert len(lines) == 4
    assert all(line.tool for line in lines)
    shown = io.StringIO()
    print_report(response, shown, request=request)
    assert lines[0].tool in shown.getvalue()


@pytest.mark.parametrize("stats", [{"format": "openai_chat"}, {"format": "of tomorrow"}, {"format": 7}, {}, None])
def test_messages_that_cannot_be_read_leave_the_tools_unnamed(stats: object) -> None:
    decision = {"id": "t1", "call_id": "c1", "action": "keep", "reason": "protected", "probability": None}
    result = {"messages": [{"role": 7, "content": "x"}], "decisions": [decision], "stats": stats}
    assert [line.tool for line in decision_lines(result, 0.1)] == [""]
