"""Read a scenario's data file into a history, a request and the labels of its tool pairs."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

NAMES = ("payment_retry", "replica_lag")


@dataclass(frozen=True, slots=True)
class LabelledPair:
    """One tool pair, whether the next action still needs its result, and why."""

    call_id: str
    needed: bool
    why: str


@dataclass(frozen=True, slots=True)
class Scenario:
    """A history that an agent host would hand over, and what a careful reader would keep of it."""

    name: str
    request: dict[str, Any]
    pairs: tuple[LabelledPair, ...]

    @property
    def needed(self) -> frozenset[str]:
        """Call ids whose results must stay."""
        return frozenset(pair.call_id for pair in self.pairs if pair.needed)

    @property
    def unneeded(self) -> frozenset[str]:
        """Call ids whose results may be replaced."""
        return frozenset(pair.call_id for pair in self.pairs if not pair.needed)


def load_scenario(name: str) -> Scenario:
    """Read `<name>.yaml` beside this file."""
    data = yaml.safe_load(Path(__file__).with_name(f"{name}.yaml").read_text(encoding="utf-8"))
    pairs = [pair for turn in data["turns"] for pair in turn.get("pairs", ())]
    request = {
        "messages": [_message(index, turn) for index, turn in enumerate(data["turns"], 1)],
        "goal": data["goal"],
        "next_action": data["next_action"],
        "source_refs": {pair["id"]: f"archive/{name}/{pair['id']}" for pair in pairs},
        "eligible_tool_names": data["eligible_tool_names"],
        "options": data["options"],
    }
    labels = tuple(LabelledPair(pair["id"], pair["needed"], pair["why"]) for pair in pairs)
    return Scenario(data["name"], request, labels)


def _message(index: int, turn: dict[str, Any]) -> dict[str, Any]:
    blocks: list[dict[str, Any]] = [{"type": "text", "text": turn["text"]}]
    for pair in turn.get("pairs", ()):
        blocks += _blocks(pair)
    return {"id": f"m{index}", "role": turn["role"], "content": blocks}


def _blocks(pair: dict[str, Any]) -> list[dict[str, Any]]:
    common = {"id": pair["id"], "name": pair["tool"]}
    call = {"type": "tool_call", **common, "input": json.dumps(pair["input"]), "state": "finished"}
    result = {"type": "tool_result", **common, "output": pair["output"].rstrip("\n"), "state": "success"}
    return [call, result]
