"""Histories of Chat Completions messages for tests: written by hand, generated, and real ones where there are any."""

import json
from pathlib import Path
from typing import Any

from histories import long_text, trajectory_files
from hypothesis import strategies as st

ChatMessage = dict[str, Any]


def chat_call(call_id: Any, name: str = "read_file", arguments: str = '{"path": "a.py"}') -> dict[str, Any]:
    """Return an entry of `tool_calls`."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def custom_call(call_id: str, name: str = "shell", words: str = "ls -l") -> dict[str, Any]:
    """Return a call of a custom tool."""
    return {"id": call_id, "type": "custom", "custom": {"name": name, "input": words}}


def calling(*calls: dict[str, Any], content: Any = None, **fields: Any) -> ChatMessage:
    """Return an assistant's message that calls tools."""
    return {"role": "assistant", "content": content, "tool_calls": list(calls), **fields}


def answer(call_id: Any, content: Any, **fields: Any) -> ChatMessage:
    """Return a tool message."""
    return {"role": "tool", "tool_call_id": call_id, "content": content, **fields}


def part(words: str, **fields: Any) -> dict[str, Any]:
    """Return a text part."""
    return {"type": "text", "text": words, **fields}


def recorded_chats() -> list[Path]:
    """Return recorded histories of Chat Completions messages, from where `trajectory_files` finds its own."""
    folders = {path.parent for path in trajectory_files()}
    return sorted(path for folder in folders for path in folder.glob("*.openai.json"))


def load_chat(path: Path) -> list[ChatMessage]:
    """Read a recorded history."""
    messages: list[ChatMessage] = json.loads(path.read_text(encoding="utf-8"))
    return messages


_TEXTS = st.one_of(
    st.text(max_size=30),
    st.integers(1, 900).map(lambda count: long_text("generated", count)),
    st.just("x" * 500 + "\n[Compacted output. Recover from: archive/old]"),
)
_PARTS = st.lists(st.one_of(_TEXTS.map(part), _TEXTS.map(lambda words: part(words, name="kept"))), max_size=3)
_CONTENTS = st.one_of(_TEXTS, _PARTS)
_OTHERS = st.one_of(
    st.builds(lambda role, content: {"role": role, "content": content}, st.sampled_from(["user", "system"]), _CONTENTS),
    st.builds(lambda words: {"role": "developer", "content": words}, _TEXTS),
    st.builds(lambda content: {"role": "assistant", "content": content}, _CONTENTS),
    st.just({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://localhost/a.png"}}]}),
)


@st.composite
def _turns(draw: st.DrawFn) -> list[ChatMessage]:
    ids = draw(st.lists(st.sampled_from([f"c{number}" for number in range(9)]), min_size=1, max_size=3, unique=True))
    calls = [draw(st.sampled_from([chat_call, custom_call]))(call_id) for call_id in ids]
    called = calling(*calls, content=draw(st.one_of(st.none(), _CONTENTS)))
    return [called, *(answer(call_id, draw(_CONTENTS)) for call_id in draw(st.permutations(ids)))]


@st.composite
def chats(draw: st.DrawFn) -> list[ChatMessage]:
    """Generate histories that the API accepts, with ids that are used again, parallel calls and parts for texts."""
    messages: list[ChatMessage] = [{"role": "user", "content": draw(_CONTENTS)}]
    for piece in draw(st.lists(st.one_of(_turns(), _OTHERS.map(lambda message: [message])), max_size=6)):
        messages.extend(piece)
    return messages
