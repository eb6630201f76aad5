"""Compaction in a host's own event loop: propose, archive, apply. Run it with: python examples/embed.py"""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reme_compact import BinaryAnswer, CompactContextStep, DecisionResponse
from reme_compact.decision.protocol import Questions, State

REQUEST = json.loads(Path(__file__).with_name("incident_request.json").read_text(encoding="utf-8"))


async def with_the_local_model() -> list[dict[str, Any]]:
    """The embedded decision model: no key, no network."""
    step = CompactContextStep(as_decision_model="local")
    proposal = (await step(**REQUEST)).answer

    originals = results_by_call(REQUEST["messages"])
    archive = {
        decision["source_ref"]: originals[decision["call_id"]]
        for decision in proposal["decisions"]
        if decision["action"] == "preview"
    }
    print(f"local model: {len(archive)} results archived, {sizes(proposal)}")
    history: list[dict[str, Any]] = proposal["messages"]  # what the next model request gets
    return history


async def only_the_open_work(state: State, questions: Questions) -> DecisionResponse:
    """Any async function can be the decision model; this one wants what names a path or a name of the next action."""
    words = [word.strip(".,:;") for word in state["next_action"].split()]
    names = [word for word in words if "/" in word or "." in word or "_" in word]
    texts = {unit["id"]: unit["input"] + unit["result"] for unit in state["evidence_units"]}
    return DecisionResponse(
        content={unit: BinaryAnswer(0.9 if any(name in texts[unit] for name in names) else 0.05) for unit in questions}
    )


async def with_your_own_model() -> None:
    step = CompactContextStep(as_decision_model=only_the_open_work)
    proposal = (await step(**REQUEST)).answer
    print(f"own model: {sizes(proposal)}")


def results_by_call(messages: list[dict[str, Any]]) -> dict[str, str]:
    blocks = [block for message in messages for block in message["content"]]
    return {block["id"]: block["output"] for block in blocks if block["type"] == "tool_result"}


def sizes(proposal: Mapping[str, Any]) -> str:
    stats = proposal["stats"]
    return f"{stats['chars_before']:,} -> {stats['chars_after']:,} characters ({proposal['reason']})"


async def main() -> None:
    await with_the_local_model()
    await with_your_own_model()


if __name__ == "__main__":
    asyncio.run(main())
