"""A compaction whose format fails proposes nothing, says why, and leaves nothing behind."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
from archiving import SESSION, everything_in, memory_archive
from models import always
from written_formats import chat_of, request_of

from reme_compact import CompactContextStep, CompactionRequest
from reme_compact.contract.errors import InvalidProposalError
from reme_compact.history.formats import opening
from reme_compact.history.formats.openai_chat import OpenAIChatFormat
from reme_compact.history.formats.registry import FORMATS

pytestmark = pytest.mark.anyio

Change = Callable[[dict[str, Any]], Any]


class Careless(OpenAIChatFormat):
    """Does what it should, and something to the message besides."""

    def __init__(self, change: Change) -> None:
        self._change = change

    def with_output(self, message: dict[str, Any], block: int, text: str) -> dict[str, Any]:
        changed = super().with_output(message, block, text)
        self._change(changed)
        return changed


async def compact(monkeypatch: pytest.MonkeyPatch, change: Change, **fields: Any) -> Any:
    monkeypatch.setattr(opening, "FORMATS", {**FORMATS, "openai_chat": Careless(change)})
    request = request_of(chat_of(3), "openai_chat", format="openai_chat", **fields)
    before = copy.deepcopy(request)
    archive = memory_archive()
    step = CompactContextStep(as_decision_model=always(0.0), archive=archive, token_counter=lambda m: len(str(m)))
    try:
        return (await step.run(CompactionRequest.parse(request))).answer
    finally:
        assert request == before
        assert everything_in(archive) == []


async def test_the_scripted_format_itself_does_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (await compact(monkeypatch, lambda message: None))["changed"]


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (lambda message: message.pop("tool_call_id"), r"'every_call_answered' at messages\[2\]\.tool_calls\[0\]\.id"),
        (lambda message: message.update(tool_call_id="c1"), r"'every_call_answered' at messages\[2\]"),
        (lambda message: message.update(name="renamed"), r"'only_results_change' at messages\[3\]"),
        (lambda message: message.update(content="cut"), r"'only_results_change' at messages\[3\]"),
        (lambda message: message.update(role="robot"), r"'only_results_change' at messages\[3\]\.role"),
    ],
)
@pytest.mark.parametrize("archived", [False, True])
async def test_the_error_says_which_rule_and_where(
    monkeypatch: pytest.MonkeyPatch, change: Change, where: str, archived: bool
) -> None:
    fields: dict[str, Any] = {"source_refs": {}, "archive": {"session": SESSION.name}} if archived else {}
    with pytest.raises(InvalidProposalError, match=where) as caught:
        await compact(monkeypatch, change, **fields)
    assert (caught.value.code, caught.value.retryable) == ("invalid_proposal", False)
    assert "nobody needs" not in caught.value.message


async def test_what_was_taken_back_is_not_held_against_the_format(monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"min_saved_tokens": 1_000_000}
    answer = await compact(monkeypatch, lambda message: message.update(name="renamed"), options=options)
    assert (answer["changed"], answer["messages"]) == (False, chat_of(3))
