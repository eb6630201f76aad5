"""The gate: a proposal that breaks a rule its source kept, or differs in anything but results, does not leave."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
from chat_histories import answer, calling, chat_call
from provider_histories import said, thought, tool_result, tool_use

from reme_compact.contract.errors import InvalidProposalError
from reme_compact.contract.messages import Message
from reme_compact.history.formats.gate import check_proposal
from reme_compact.history.formats.opening import OpenedHistory
from reme_compact.history.formats.registry import FORMATS

TEXT = "x" * 900
NEW = "short"

USER: Message = {"role": "user", "content": "Fix the retries"}
CHAT: list[Message] = [
    USER,
    calling(chat_call("c1"), chat_call("c2")),
    answer("c1", TEXT, name="tool", kept={"n": [1]}),
    answer("c2", TEXT),
    {"role": "user", "content": "Go on"},
]
CACHED: dict[str, Any] = {"cache_control": {"type": "ephemeral"}}
PARTS: list[Any] = [{"type": "text", "text": TEXT}, {"type": "text", "text": "end", **CACHED}]
TURNS: list[Message] = [
    USER,
    said("assistant", thought(), tool_use("c1"), tool_use("c2")),
    said("user", tool_result("c1", PARTS), tool_result("c2", TEXT), {"type": "text", "text": "Go on"}),
]
OWN: list[Message] = [
    {"role": "user", "content": [{"type": "text", "text": "Fix the retries"}]},
    {
        "role": "assistant",
        "content": [
            {"type": "tool_call", "id": "c1", "name": "f", "input": "{}", "state": "finished"},
            {"type": "tool_result", "id": "c1", "name": "f", "output": TEXT, "state": "success", "kept": {"n": [1]}},
        ],
    },
]


def opened(name: Any, source: list[Message]) -> OpenedHistory:
    known = FORMATS[name]
    return OpenedHistory(known, source, known.read(source))


def check(
    name: str, source: list[Message], at: tuple[int, int], change: Callable[[list[Message]], Any] = lambda _: None
) -> None:
    """Replace one result as the format does, spoil the copy of the history, and show it to the gate."""
    history = opened(name, source)
    proposal = list(source)
    proposal[at[0]] = copy.deepcopy(history.format.with_output(source[at[0]], at[1], NEW))
    change(proposal)
    check_proposal(history, proposal, {at: NEW})


@pytest.mark.parametrize(
    ("name", "source", "at"),
    [
        ("openai_chat", CHAT, (2, 0)),
        ("anthropic", TURNS, (2, 0)),
        ("anthropic", TURNS, (2, 1)),
        ("agentscope", OWN, (1, 1)),
    ],
)
def test_a_replaced_text_passes(name: str, source: list[Message], at: tuple[int, int]) -> None:
    check(name, source, at)


CHANGES_IN_CHAT: list[tuple[str, str, Callable[[list[Message]], Any]]] = [
    ("every_call_answered", "messages[1].tool_calls[0].id", lambda chat: chat[2].pop("tool_call_id")),
    ("every_call_answered", "messages[1].tool_calls[0].id", lambda chat: chat[2].update(role="user")),
    ("every_call_answered", "messages[1].tool_calls[0].id", lambda chat: chat[2].update(tool_call_id="c2")),
    ("result_is_text", "messages[2].content", lambda chat: chat[2].update(content=[{"type": "image"}])),
    ("only_results_change", "messages[2].role", lambda chat: chat[2].update(role="robot")),
    ("only_results_change", "messages[2].content", lambda chat: chat[2].update(content=7)),
    ("only_results_change", "messages[2]", lambda chat: chat[2].update(content="another text")),
    ("only_results_change", "messages[2]", lambda chat: chat[2].update(name="renamed")),
    ("only_results_change", "messages[2]", lambda chat: chat[2]["kept"]["n"].append(2)),
    ("only_results_change", "messages[2]", lambda chat: chat[2]["kept"]["n"].__setitem__(0, True)),
    ("only_results_change", "messages[2]", lambda chat: chat[2].pop("kept")),
    ("only_results_change", "messages[2]", lambda chat: chat[2].update(added="y")),
    ("only_results_change", "messages[2]", lambda chat: chat[2].update(content=[{"type": "text", "text": NEW}])),
    ("only_results_change", "messages[2]", lambda chat: chat.__setitem__(2, CHAT[2])),
    ("only_results_change", "messages[3]", lambda chat: chat.__setitem__(3, {**chat[3], "content": NEW})),
    ("only_results_change", "messages[4]", lambda chat: chat.__setitem__(4, {**chat[4], "content": NEW})),
    ("only_results_change", "messages", lambda chat: chat.pop()),
]


@pytest.mark.parametrize(("rule", "path", "change"), CHANGES_IN_CHAT)
def test_what_else_changes_is_named_by_rule_and_place(
    rule: str, path: str, change: Callable[[list[Message]], Any]
) -> None:
    before = copy.deepcopy(CHAT)
    with pytest.raises(InvalidProposalError) as caught:
        check("openai_chat", CHAT, (2, 0), change)
    assert f"rule '{rule}' at {path}:" in caught.value.message
    assert TEXT not in caught.value.message
    assert before == CHAT


CHANGES_IN_TURNS: list[tuple[str, Callable[[list[dict[str, Any]]], Any]]] = [
    ("results_first", lambda blocks: blocks.insert(0, blocks.pop())),
    ("every_call_answered", lambda blocks: blocks.pop(1)),
    ("only_results_change", lambda blocks: blocks.append({"type": "text", "text": "more"})),
    ("only_results_change", lambda blocks: blocks.__setitem__(slice(0, 2), [blocks[1], blocks[0]])),
    ("only_results_change", lambda blocks: blocks[0].update(is_error=True)),
    ("only_results_change", lambda blocks: blocks[0].update(content=[{"type": "text", "text": NEW, "more": 1}])),
    ("only_results_change", lambda blocks: blocks[0]["content"][0].pop("type")),
    ("only_results_change", lambda blocks: blocks[1].update(CACHED)),
    ("only_results_change", lambda blocks: blocks[1].update(content=[{"type": "text", "text": TEXT}])),
    ("only_results_change", lambda blocks: blocks[2].update(text="Stop")),
]


@pytest.mark.parametrize(("rule", "change"), CHANGES_IN_TURNS)
def test_the_other_blocks_of_the_message_stay_what_they_are(
    rule: str, change: Callable[[list[dict[str, Any]]], Any]
) -> None:
    with pytest.raises(InvalidProposalError, match=f"rule '{rule}'"):
        check("anthropic", TURNS, (2, 0), lambda turns: change(turns[2]["content"]))


@pytest.mark.parametrize(
    "change",
    [
        lambda message: message.update(id="m1"),
        lambda message: message["content"].pop(0),
        lambda message: message["content"][0].update(input='{"more": 1}'),
        lambda message: message["content"][1].update(state="error"),
        lambda message: message["content"][1]["kept"]["n"].append(2),
        lambda message: message["content"][1].update(output=TEXT),
    ],
)
def test_agentscopes_own_messages_are_looked_at_as_closely(change: Callable[[Message], Any]) -> None:
    with pytest.raises(InvalidProposalError, match=r"rule 'only_results_change' at messages\[1\]"):
        check("agentscope", OWN, (1, 1), lambda messages: change(messages[1]))


def test_two_results_that_read_the_same_are_not_taken_for_one_another() -> None:
    calls = said("assistant", tool_use("c1"), tool_use("c2"))
    source = [USER, calls, said("user", tool_result("c1"), tool_result("c2"))]
    history = opened("anthropic", source)
    texts = {(2, 0): "first", (2, 1): "second"}
    proposal = [*source[:2], said("user", tool_result("c1", "first"), tool_result("c2", "second"))]
    check_proposal(history, proposal, texts)
    proposal[2] = said("user", tool_result("c1", "second"), tool_result("c2", "first"))
    with pytest.raises(InvalidProposalError, match="only_results_change"):
        check_proposal(history, proposal, texts)


def test_what_is_no_result_cannot_be_replaced() -> None:
    history = opened("agentscope", OWN)
    proposal: list[Message] = [{**OWN[0], "content": [{"type": "text", "text": NEW}]}, OWN[1]]
    with pytest.raises(InvalidProposalError, match=r"at messages\[0\]"):
        check_proposal(history, proposal, {(0, 0): NEW})


BROKEN = [
    ("openai_chat", [USER, calling(chat_call("c0")), *CHAT[1:]], (3, 0)),
    ("openai_chat", [*CHAT, answer("c1", TEXT), answer("c8", TEXT)], (2, 0)),
    ("anthropic", [*TURNS, said("assistant", tool_use("c1")), said("user", "no")], (2, 1)),
    ("anthropic", [USER, said("assistant", {**thought(), "signature": None}), *TURNS[1:]], (3, 1)),
]


@pytest.mark.parametrize(("name", "source", "at"), BROKEN)
def test_what_the_source_broke_already_does_not_keep_a_proposal_back(
    name: str, source: list[Message], at: tuple[int, int]
) -> None:
    assert list(opened(name, source).format.violations(source))
    check(name, source, at)


def test_a_rule_that_is_broken_elsewhere_as_well_is_still_noticed() -> None:
    source: list[Message] = [USER, calling(chat_call("c0")), *CHAT[1:]]
    with pytest.raises(InvalidProposalError, match=r"'every_call_answered' at messages\[2\]\.tool_calls\[0\]\.id"):
        check("openai_chat", source, (3, 0), lambda chat: chat[3].pop("tool_call_id"))


def test_without_a_replacement_a_history_is_its_own_proposal() -> None:
    history = opened("openai_chat", CHAT)
    check_proposal(history, list(CHAT), {})
    check_proposal(history, copy.deepcopy(CHAT), {})
    changed = [*CHAT[:4], {"role": "user", "content": "Stop"}]
    with pytest.raises(InvalidProposalError, match=r"at messages\[4\]"):
        check_proposal(history, changed, {})
