"""Histories for tests: written by hand, generated, and real ones where they can be found."""

import json
import os
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

Message = dict[str, Any]


def text(words: str) -> dict[str, Any]:
    """Return a text block."""
    return {"type": "text", "text": words}


def message(role: str, *blocks: dict[str, Any], message_id: str | None = None) -> Message:
    """Return a message."""
    result: Message = {"role": role, "content": list(blocks)}
    return result if message_id is None else {"id": message_id, **result}


def call(call_id: str, name: Any = "read_file", tool_input: Any = '{"path": "a.py"}', **fields: Any) -> dict[str, Any]:
    """Return a finished tool call."""
    return {"type": "tool_call", "id": call_id, "name": name, "input": tool_input, "state": "finished", **fields}


def result(call_id: str, output: Any, name: str = "read_file", **fields: Any) -> dict[str, Any]:
    """Return a successful tool result."""
    return {"type": "tool_result", "id": call_id, "name": name, "output": output, "state": "success", **fields}


def long_text(seed: str, chars: int = 2000) -> str:
    """Return a text of a length, different for each seed."""
    line = f"{seed}: a line of output that nobody needs\n"
    return (line * (chars // len(line) + 1))[:chars]


def history(pairs: int, chars: int = 2000) -> list[Message]:
    """Return a user message, then one assistant message per tool pair, then a user message."""
    middle = [
        message("assistant", call(f"c{n}"), result(f"c{n}", long_text(f"c{n}", chars)), message_id=f"m{n}")
        for n in range(pairs)
    ]
    return [message("user", text("Fix the retries"), message_id="first"), *middle, message("user", text("Go on"))]


def request_for(messages: list[Message], **fields: Any) -> dict[str, Any]:
    """Return a request in which every call with an id has a reference and every tool is eligible."""
    blocks = [block for item in messages for block in item["content"] if block.get("type") == "tool_call"]
    ids = [block["id"] for block in blocks if isinstance(block.get("id"), str) and block["id"]]
    names = {block["name"] for block in blocks if isinstance(block.get("name"), str)}
    options = {"preserve_recent_messages": 0, **fields.pop("options", {})}
    return {
        "messages": messages,
        "goal": "Fix the retries",
        "source_refs": {call_id: f"archive/{call_id}" for call_id in ids},
        "eligible_tool_names": sorted(names),
        "options": options,
        **fields,
    }


_TEXTS = st.one_of(
    st.text(max_size=40),
    st.text(alphabet="aé👍🏽👨‍👩‍👧\r\n 漢字🇩🇪", max_size=400),
    st.integers(1, 900).map(lambda count: long_text("generated", count)),
    st.sampled_from(["short", "", "x" * 700 + "\n[Compacted output. Recover from: archive/old]"]),
)
_OUTPUTS = st.one_of(
    _TEXTS,
    _TEXTS,
    st.lists(_TEXTS.map(text), max_size=3),
    st.just([{"type": "data", "source": {"type": "base64", "data": "AAAA", "media_type": "image/png"}}]),
    st.none(),
)
_STATES = st.sampled_from(["success", "success", "success", "error", "running", "interrupted"])
_NAMES = st.sampled_from(["read_file", "search", "shell"])
_IDS = st.sampled_from([f"c{n}" for n in range(12)])
_INPUTS = st.sampled_from(['{"path": "a.py"}', '{"path": "b.py"}', "{}", "[]", "not json", '{"a": NaN}'])


@st.composite
def _pairs(draw: st.DrawFn) -> list[dict[str, Any]]:
    call_id, name = draw(_IDS), draw(_NAMES)
    blocks = [call(call_id, name, draw(_INPUTS), state=draw(st.sampled_from(["finished"] * 4 + ["pending"])))]
    if draw(st.integers(0, 9)):
        output_name = name if draw(st.integers(0, 9)) else "other"
        blocks.append(result(call_id, draw(_OUTPUTS), output_name, state=draw(_STATES), metadata={"n": [1, {"x": 2}]}))
    return blocks


@st.composite
def histories(draw: st.DrawFn) -> list[Message]:
    """Generate histories with every oddity that real logs show: reused ids, missing results, whole turns."""
    messages: list[Message] = [message("user", text(draw(_TEXTS)), message_id="u0")]
    for index in range(draw(st.integers(0, 8))):
        blocks: list[dict[str, Any]] = [text(draw(_TEXTS))] if draw(st.booleans()) else []
        for pair in draw(st.lists(_pairs(), max_size=4)):
            blocks.extend(pair)
        role = draw(st.sampled_from(["assistant", "assistant", "assistant", "user", "system"]))
        messages.append(message(role, *blocks, message_id=draw(st.sampled_from([f"m{index}", None]))))
    return messages


def trajectory_files() -> list[Path]:
    """Return recorded histories; they are not part of the project, so there may be none.

    `REME_TRAJECTORIES` names their folder; by default it is looked for beside the checkout.
    """
    folder = os.environ.get("REME_TRAJECTORIES")
    default = Path(__file__).parents[3] / "shared" / "trajectories"
    return sorted((Path(folder) if folder else default).glob("*.agentscope.json"))


def load_history(path: Path) -> list[Message]:
    """Read a recorded history."""
    messages: list[Message] = json.loads(path.read_text(encoding="utf-8"))
    return messages
