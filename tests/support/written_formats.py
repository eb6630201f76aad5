"""The same history written in every format, made of Chat Completions messages."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, get_args

from chat_histories import ChatMessage, answer, calling, chat_call
from histories import long_text
from langchain_histories import SHAPES, as_langchain
from provider_histories import CONVERTERS

from reme_compact.contract.formats import FormatName


def agentscope_of(chat: list[ChatMessage]) -> list[dict[str, Any]]:
    """Write a Chat Completions history for AgentScope, message for message."""
    names = {call["id"]: call["function"]["name"] for message in chat for call in message.get("tool_calls") or ()}
    return [_agentscope_message(message, names) for message in chat]


WRITINGS: dict[str, Callable[[list[ChatMessage]], list[dict[str, Any]]]] = {
    "agentscope": agentscope_of,
    "openai_chat": list,
    **CONVERTERS,
    **{f"langchain.{shape}": partial(as_langchain, shape=shape) for shape in SHAPES},
}
"""From Chat Completions into each format, and each shape of it."""


def format_of(writing: str) -> FormatName:
    """Return the format of an entry of `WRITINGS`."""
    names: dict[str, FormatName] = {name: name for name in get_args(FormatName)}
    return names[writing.partition(".")[0]]


def rounds(first: int, number: int, chars: int = 2000) -> list[ChatMessage]:
    """Return assistant messages that call one tool each, every third one two at once, with their results."""
    messages: list[ChatMessage] = []
    for n in range(first, first + number):
        ids = [f"c{n}", f"c{n}b"] if n % 3 == 2 else [f"c{n}"]
        messages.append(calling(*(chat_call(call_id) for call_id in ids), content=f"Round {n}"))
        messages += [answer(call_id, long_text(call_id, chars)) for call_id in ids]
    return messages


def chat_of(number: int, chars: int = 2000) -> list[ChatMessage]:
    """Return a system message, a user message, rounds of tool calls and a user message."""
    return [
        {"role": "system", "content": "You mend programs."},
        {"role": "user", "content": "Fix the retries"},
        *rounds(0, number, chars),
        {"role": "user", "content": "Go on"},
    ]


def with_results(chat: list[ChatMessage], texts: Mapping[str, str]) -> list[ChatMessage]:
    """Return a history in which the results of some calls read otherwise."""
    return [{**message, "content": texts.get(message.get("tool_call_id", ""), message["content"])} for message in chat]


def results_in(chat: list[ChatMessage]) -> dict[str, str]:
    """Return what the results of a history read, by call id."""
    return {message["tool_call_id"]: message["content"] for message in chat if message["role"] == "tool"}


def request_of(chat: list[ChatMessage], writing: str, **fields: Any) -> dict[str, Any]:
    """Return a request for a history in some writing; every call has a source ref, every tool is eligible."""
    calls = [call for message in chat for call in message.get("tool_calls") or ()]
    return {
        "messages": WRITINGS[writing](chat),
        "goal": "Fix the retries",
        "source_refs": {call["id"]: f"archive/{call['id']}" for call in calls},
        "eligible_tool_names": sorted({call["function"]["name"] for call in calls}),
        "options": {"preserve_recent_pairs": 0, **fields.pop("options", {})},
        **fields,
    }


def _agentscope_message(message: ChatMessage, names: Mapping[str, str]) -> dict[str, Any]:
    if message["role"] == "tool":
        call_id = message["tool_call_id"]
        result = {"type": "tool_result", "id": call_id, "name": names.get(call_id), "output": message["content"]}
        return {"role": "assistant", "content": [{**result, "state": "success"}]}
    blocks = [{"type": "text", "text": message["content"]}] if message["content"] else []
    calls = [
        {
            "type": "tool_call",
            "id": call["id"],
            "name": call["function"]["name"],
            "input": call["function"]["arguments"],
            "state": "finished",
        }
        for call in message.get("tool_calls") or ()
    ]
    return {"role": message["role"], "content": [*blocks, *calls]}
