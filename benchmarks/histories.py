"""Agent histories of any size, the same ones for the same seed."""

import json
from dataclasses import dataclass
from random import Random
from typing import Any, TypeAlias

from benchmarks.cases import Shape
from benchmarks.texts import KINDS, Kind, TextSource

Message: TypeAlias = dict[str, Any]
Request: TypeAlias = dict[str, Any]

_TOOLS: dict[Kind, str] = {"code": "read_file", "log": "read_log", "json": "query_api", "prose": "search_docs"}
_GOAL = "Find out why some customers are charged twice when a payment is retried, and fix it."
_NEXT_ACTION = "Review how the retry worker reserves the ledger record before it calls the gateway."


@dataclass(frozen=True, slots=True)
class History:
    """A generated history with what a host would pass along with it."""

    messages: list[Message]
    source_refs: dict[str, str]

    def request(self, options: dict[str, Any]) -> Request:
        """Return the keys of a compaction request; the history is shared, not copied."""
        return {
            "messages": self.messages,
            "goal": _GOAL,
            "next_action": _NEXT_ACTION,
            "source_refs": self.source_refs,
            "eligible_tool_names": list(_TOOLS.values()),
            "options": options,
        }


def build_history(pairs: int, result_chars: int, shape: Shape, seed: int) -> History:
    """Generate a history of that many tool pairs, each result of exactly `result_chars` characters.

    A quarter of the results each is code, log, JSON and prose; no two are equal. One call in ten repeats an earlier
    input, as agents do.
    """
    random = Random(seed)  # noqa: S311 - reproducible test data
    sources = {kind: TextSource(kind, random) for kind in KINDS}
    turns: list[list[dict[str, Any]]] = []
    refs: dict[str, str] = {}
    inputs: list[tuple[Kind, str]] = []
    for number in range(1, pairs + 1):
        if inputs and random.random() < 0.1:
            kind, tool_input = random.choice(inputs)
        else:
            kind = KINDS[number % len(KINDS)]
            tool_input = _input(kind, number, random)
            inputs.append((kind, tool_input))
        call_id = f"call_{number:06d}"
        refs[call_id] = f"archive/session-{seed}/{call_id}.txt"
        first_line = f"{_TOOLS[kind]} #{number} {random.getrandbits(40):010x}"
        output = sources[kind].take(result_chars, first_line)
        blocks = _pair(call_id, _TOOLS[kind], tool_input, output)
        if number % 3 == 0:
            blocks.insert(0, {"type": "text", "text": f"Step {number}: next I look at {tool_input[:60]}"})
        turns.append(blocks)
    return History(_messages(turns, shape), refs)


def _input(kind: Kind, number: int, random: Random) -> str:
    folder, file = random.randrange(40), random.randrange(400)
    values: dict[Kind, dict[str, Any]] = {
        "code": {"path": f"services/part_{folder}/module_{file}.py", "first_line": number},
        "log": {"service": f"worker-{folder}", "since": f"2026-11-{1 + folder % 28:02d}T00:00:00Z", "page": number},
        "json": {"url": f"/v2/payments/{file}", "parameters": {"expand": ["refunds"], "cursor": number}},
        "prose": {"query": f"retry policy {folder} of gateway {file}", "offset": number},
    }
    return json.dumps(values[kind])


def _pair(call_id: str, tool: str, tool_input: str, output: str) -> list[dict[str, Any]]:
    return [
        {"type": "tool_call", "id": call_id, "name": tool, "input": tool_input, "state": "finished"},
        {"type": "tool_result", "id": call_id, "name": tool, "output": output, "state": "success"},
    ]


def _messages(turns: list[list[dict[str, Any]]], shape: Shape) -> list[Message]:
    contents = turns if shape == "message_per_pair" else [[block for turn in turns for block in turn]]
    answers = [
        {"id": f"m{number}", "role": "assistant", "name": "agent", "content": content}
        for number, content in enumerate(contents, 2)
    ]
    return [_user("m1", _GOAL), *answers, _user(f"m{len(answers) + 2}", "Go on with the retry worker.")]


def _user(message_id: str, text: str) -> Message:
    return {"id": message_id, "role": "user", "name": "user", "content": [{"type": "text", "text": text}]}
