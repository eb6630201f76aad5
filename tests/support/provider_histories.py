"""Histories as providers' SDKs write them: built by hand, generated, and converted from real Chat Completions."""

import json
from collections.abc import Callable, Iterator
from typing import Any

from histories import long_text
from hypothesis import strategies as st

Item = dict[str, Any]

_TEXTS = st.one_of(st.text(min_size=1, max_size=40), st.integers(1, 900).map(lambda chars: long_text("made", chars)))
_CACHED = {"type": "ephemeral", "ttl": "5m"}
_BREAKPOINT = {"mode": "explicit"}


def tool_use(call_id: str, name: str = "read_file", **fields: Any) -> Item:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {"path": "a.py"}, **fields}


def tool_result(call_id: str, content: Any = "x" * 900, **fields: Any) -> Item:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **fields}


def said(role: str, *content: Any) -> Item:
    """A message of blocks, or of one text."""
    return {"role": role, "content": content[0] if isinstance(content[0], str) else list(content)}


def function_call(call_id: str, name: str = "read_file", **fields: Any) -> Item:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": '{"path": "a.py"}', **fields}


def function_output(call_id: str, output: Any = "x" * 900, **fields: Any) -> Item:
    return {"type": "function_call_output", "call_id": call_id, "output": output, **fields}


def thought(signature: str = "c2lnbmVk") -> Item:
    return {"type": "thinking", "thinking": "Where are the retries?", "signature": signature}


def reasoning(item_id: str = "rs_1") -> Item:
    return {
        "type": "reasoning",
        "id": item_id,
        "summary": [{"type": "summary_text", "text": "Where are the retries?"}],
        "encrypted_content": "Z0FB",
    }


@st.composite
def _anthropic_results(draw: st.DrawFn, call_id: str) -> Item:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    cached = st.sampled_from([{}, {}, {"cache_control": _CACHED}])
    blocks = st.lists(_TEXTS, max_size=3).map(lambda texts: [{"type": "text", "text": text} for text in texts])
    content = draw(
        st.one_of(_TEXTS, blocks, _TEXTS.map(lambda text: [{"type": "text", "text": text, "cache_control": _CACHED}]))
    )
    result = tool_result(call_id, content, **draw(cached))
    oddity = draw(st.integers(0, 9))
    if oddity == 0:
        del result["content"]
    elif oddity == 1:
        result["content"] = [{"type": "text", "text": "seen"}, image]
    elif oddity == 2:
        result["is_error"] = True
    return result


@st.composite
def anthropic_histories(draw: st.DrawFn) -> list[Item]:
    """Generate histories that the API accepts: parallel calls, errors, images, thinking, server tools."""
    messages = [said("user", draw(_TEXTS))]
    number = 0
    for _ in range(draw(st.integers(0, 5))):
        calls = [f"toolu_{number + place}" for place in range(draw(st.integers(0, 3)))]
        number += 10
        blocks: list[Item] = [thought()] if draw(st.booleans()) else []
        if draw(st.booleans()):
            search = {"type": "server_tool_use", "id": f"srvtoolu_{number}", "name": "web_search", "input": {}}
            found = {"type": "web_search_tool_result", "tool_use_id": f"srvtoolu_{number}", "content": []}
            blocks += [search, found]
        blocks.append({"type": "text", "text": draw(_TEXTS)})
        blocks += [tool_use(call_id) for call_id in calls]
        messages.append({"role": "assistant", "content": blocks})
        results = [draw(_anthropic_results(call_id)) for call_id in draw(st.permutations(calls))]
        if draw(st.booleans()) or not results:
            results.append({"type": "text", "text": draw(_TEXTS)})
        messages.append({"role": "user", "content": results})
    return messages


@st.composite
def responses_histories(draw: st.DrawFn) -> list[Item]:
    """Generate item lists that the API accepts: parallel and custom calls, reasoning, hosted tools, parts."""
    items: list[Item] = [{"role": "user", "content": draw(_TEXTS)}]
    parts = st.lists(_TEXTS, max_size=3).map(lambda texts: [{"type": "input_text", "text": text} for text in texts])
    marked = _TEXTS.map(lambda text: [{"type": "input_text", "text": text, "prompt_cache_breakpoint": _BREAKPOINT}])
    outputs = st.one_of(_TEXTS, parts, marked)
    for turn in range(draw(st.integers(0, 5))):
        if draw(st.booleans()):
            items.append(reasoning(f"rs_{turn}"))
        said_text = {"type": "output_text", "text": draw(_TEXTS), "annotations": []}
        items.append(
            {
                "type": "message",
                "id": f"msg_{turn}",
                "role": "assistant",
                "status": "completed",
                "content": [said_text],
            }
        )
        if draw(st.booleans()):
            action = {"type": "search", "query": "q"}
            items.append({"type": "web_search_call", "id": f"ws_{turn}", "status": "completed", "action": action})
        calls = [f"call_{turn}_{place}" for place in range(draw(st.integers(0, 3)))]
        items += [function_call(call_id, id=f"fc_{call_id}", status="completed") for call_id in calls]
        status = st.sampled_from([{}, {}, {"status": "completed"}, {"status": "incomplete"}])
        items += [function_output(call_id, draw(outputs), **draw(status)) for call_id in draw(st.permutations(calls))]
        if draw(st.booleans()):
            patch = f"custom_{turn}"
            items.append({"type": "custom_tool_call", "call_id": patch, "name": "apply_patch", "input": draw(_TEXTS)})
            items.append({"type": "custom_tool_call_output", "call_id": patch, "output": draw(outputs)})
    return items


def anthropic_of(chat: list[Item]) -> list[Item]:
    """Write a Chat Completions history for the Messages API; the system prompt stands elsewhere there."""
    messages: list[Item] = []
    for message in chat:
        role, content = message["role"], message["content"]
        if role == "tool":
            result = tool_result(message["tool_call_id"], content)
            if messages and messages[-1]["role"] == "user" and isinstance(messages[-1]["content"], list):
                messages[-1]["content"].append(result)
            else:
                messages.append({"role": "user", "content": [result]})
        elif role == "assistant":
            blocks = [{"type": "text", "text": content}] if content else []
            messages.append({"role": "assistant", "content": blocks + [_used(call) for call in _calls(message)]})
        elif role == "user":
            messages.append({"role": "user", "content": content})
    return messages


def responses_of(chat: list[Item]) -> list[Item]:
    """Write a Chat Completions history for the Responses API."""

    def items_of(message: Item) -> Iterator[Item]:
        role, content = message["role"], message["content"]
        if role == "tool":
            yield function_output(message["tool_call_id"], content)
            return
        if content or not _calls(message):
            yield {"role": role, "content": content}
        for call in _calls(message):
            made = call["function"]
            yield function_call(call["id"], made["name"], arguments=made["arguments"])

    return [item for message in chat for item in items_of(message)]


def _calls(message: Item) -> list[Item]:
    calls: list[Item] = message.get("tool_calls") or []
    return calls


def _used(call: Item) -> Item:
    return tool_use(call["id"], call["function"]["name"], input=json.loads(call["function"]["arguments"]))


CONVERTERS: dict[str, Callable[[list[Item]], list[Item]]] = {
    "anthropic": anthropic_of,
    "openai_responses": responses_of,
}
"""From Chat Completions into another format, by its name."""
