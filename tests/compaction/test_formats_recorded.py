"""Real histories in every format: they come back as they were, break no new rule, and are decided on alike."""

import copy
from pathlib import Path
from typing import Any

import pytest
from chat_histories import ChatMessage, load_chat, recorded_chats
from histories import load_history
from models import ScriptedModel, always, by_hash
from written_formats import WRITINGS, format_of, request_of, results_in, with_results

from reme_compact import CompactContextStep, CompactionRequest
from reme_compact.contract.formats import FormatName
from reme_compact.history.formats.registry import FORMATS
from reme_compact.history.preview import preview_text

pytestmark = pytest.mark.anyio


def twin_of(file: Path) -> Path:
    """Return where the same history stands as AgentScope's, if it does."""
    return file.with_name(file.name.replace(".openai.", ".agentscope."))


def each(files: list[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("file", files, ids=lambda path: path.name.split(".")[0])


EVERY_FILE = each(recorded_chats())
EVERY_WRITING = pytest.mark.parametrize("writing", [name for name in WRITINGS if name != "openai_chat"])
OPTIONS = {"preserve_recent_pairs": 3}


async def run(request: dict[str, Any], model: ScriptedModel) -> dict[str, Any]:
    before = copy.deepcopy(request)
    answer: dict[str, Any] = (
        await CompactContextStep(as_decision_model=model).run(CompactionRequest.parse(request))
    ).answer
    assert request == before
    return answer


def request_for(chat: list[ChatMessage], writing: str) -> dict[str, Any]:
    return request_of(chat, writing, format=format_of(writing), options=OPTIONS)


def decided(answer: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Return all that was decided, and why; which batch a unit was asked in may differ."""
    details = answer["stats"]["details"]
    return [(*decision.values(), details.get(decision["id"])) for decision in answer["decisions"]]


def violations(name: FormatName, messages: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(found.rule, found.path) for found in FORMATS[name].violations(messages)]


@EVERY_FILE
@pytest.mark.parametrize("writing", WRITINGS)
async def test_without_a_preview_it_comes_back_as_it_was(file: Path, writing: str) -> None:
    request = request_for(load_chat(file), writing)
    answer = await run(request, always(0.9))
    assert answer["changed"] is False
    assert all(now is before for now, before in zip(answer["messages"], request["messages"], strict=True))


@EVERY_FILE
@EVERY_WRITING
async def test_the_decisions_are_the_same_and_the_proposal_is_the_same_written_otherwise(
    file: Path, writing: str
) -> None:
    chat = load_chat(file)
    expected = await run(request_for(chat, "openai_chat"), by_hash())
    answer = await run(request_for(chat, writing), by_hash())
    assert decided(answer) == decided(expected)
    assert answer["messages"] == WRITINGS[writing](expected["messages"])
    name = format_of(writing)
    assert violations(name, answer["messages"]) == violations(name, WRITINGS[writing](chat))


@EVERY_FILE
async def test_previews_are_where_the_decisions_say(file: Path) -> None:
    chat = load_chat(file)
    answer = await run(request_for(chat, "openai_chat"), by_hash())
    results = results_in(chat)
    previews = {
        decision["call_id"]: preview_text(results[decision["call_id"]], decision["source_ref"], 300)
        for decision in answer["decisions"]
        if decision["action"] == "preview"
    }
    assert answer["messages"] == with_results(chat, previews)


@each([file for file in recorded_chats() if twin_of(file).exists()])
async def test_the_history_that_agentscope_recorded_is_decided_on_like_the_chat(file: Path) -> None:
    chat = load_chat(file)
    request = request_for(chat, "agentscope")
    expected = await run(request, by_hash())
    answer = await run({**request, "messages": load_history(twin_of(file))}, by_hash())
    assert decided(answer) == decided(expected)
