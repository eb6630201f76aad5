"""An AgentScope host embeds compaction: its own messages in, valid messages out, originals read back."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest
from agentscope.classifier import BinaryAnswer, BinaryQuestion, ClassifierModelBase, ClassifierResponse, ClassifierUsage
from agentscope.credential import TypeSafeCredential
from agentscope.message import Msg, TextBlock, ToolCallBlock, ToolResultBlock

from reme_compact import CompactContextStep
from reme_compact.presets.assemble import assemble_component, assemble_job
from reme_compact.presets.load import load_preset

pytestmark = pytest.mark.anyio


class Classifier(ClassifierModelBase):  # type: ignore[misc] # not analysed, so untyped here
    """A host's own classifier: what names the payment is needed."""

    def __init__(self) -> None:
        super().__init__(TypeSafeCredential(api_key="unused"), "host-classifier")
        self.questions: dict[str, Any] = {}
        self.closed = False

    async def __call__(self, state: str | dict[str, Any], questions: Mapping[str, Any], **_: Any) -> ClassifierResponse:
        assert isinstance(state, dict)
        self.questions.update(questions)
        results = {unit["id"]: unit["result"] for unit in state["evidence_units"]}
        return ClassifierResponse(
            model=self.model,
            content={name: BinaryAnswer(0.9 if "pay_8812" in results[name] else 0.03) for name in questions},
            usage=ClassifierUsage(time=0.1, input_tokens=120, output_tokens=2),
        )

    async def aclose(self) -> None:
        self.closed = True


def turn() -> list[Msg]:
    """One whole agent turn in one message, as AgentScope stores it."""
    blocks: list[Any] = [TextBlock(text="I look around first.")]
    outputs = {
        "c1": "icons/cart.svg icons/user.svg\n" * 60,
        "c2": "attempt 4 of pay_8812 was charged again\n" * 40,
        "c3": "README CONTRIBUTING LICENSE\n" * 60,
        "c4": "the latest result\n" * 60,
    }
    for call_id, output in outputs.items():
        blocks.append(ToolCallBlock(id=call_id, name="shell", input=json.dumps({"command": call_id}), state="finished"))
        blocks.append(ToolResultBlock(id=call_id, name="shell", output=[TextBlock(text=output)], state="success"))
    return [
        Msg(name="user", role="user", content=[TextBlock(text="Find out why pay_8812 was charged twice")]),
        Msg(name="agent", role="assistant", content=blocks),
    ]


def request_for(messages: list[Msg], **options: Any) -> dict[str, Any]:
    return {
        "messages": [message.model_dump(mode="json") for message in messages],
        "next_action": "Explain the second charge",
        "eligible_tool_names": ["shell"],
        "source_refs": {f"c{n}": f"archive/c{n}" for n in range(1, 5)},
        "options": {"preserve_recent_pairs": 1, **options},
    }


async def test_an_agentscope_turn_is_compacted_by_the_hosts_classifier_and_stays_valid() -> None:
    classifier = Classifier()
    step = CompactContextStep(as_decision_model=classifier)
    context = turn()
    proposal = (await step(**request_for(context))).answer
    await step.aclose()

    assert {d["call_id"]: d["action"] for d in proposal["decisions"]} == {
        "c1": "preview",
        "c2": "keep",
        "c3": "preview",
        "c4": "keep",
    }
    assert all(isinstance(question, BinaryQuestion) for question in classifier.questions.values())
    assert proposal["stats"]["usage"] == [{"time": 0.1, "input_tokens": 120, "output_tokens": 2, "type": "classifier"}]
    assert not classifier.closed

    compacted = [Msg.model_validate(message) for message in proposal["messages"]]
    assert [message.id for message in compacted] == [message.id for message in context]
    assert [block.id for block in compacted[1].content] == [block.id for block in context[1].content]


async def test_originals_come_back_from_what_the_host_archived() -> None:
    context = turn()
    originals = {b.id: b.output[0].text for b in context[1].content if isinstance(b, ToolResultBlock)}
    archive = {f"archive/{call_id}": text for call_id, text in originals.items()}
    proposal = (await CompactContextStep(as_decision_model=Classifier())(**request_for(context))).answer
    for block in proposal["messages"][1]["content"]:
        if block["type"] == "tool_result" and isinstance(block["output"], str):
            reference = block["output"].rsplit("Recover from: ", 1)[1].removesuffix("]")
            assert archive[reference] == originals[block["id"]]


async def test_the_hosts_counter_rules_the_budget() -> None:
    def count(messages: list[dict[str, Any]]) -> int:
        return sum(len(Msg.model_validate(message).model_dump_json()) for message in messages) // 4

    request = request_for(turn())
    budget = count(request["messages"]) - 300
    request["options"]["max_output_tokens"] = budget
    step = CompactContextStep(as_decision_model=Classifier(), token_counter=count)
    proposal = (await step(**request)).answer
    assert proposal["budget_met"] is True
    assert count(proposal["messages"]) == proposal["stats"]["tokens_after"] <= budget
    assert [d["reason"] for d in proposal["decisions"]].count("within_budget") == 1


async def test_a_job_or_a_component_is_assembled_from_a_preset_alone() -> None:
    preset = load_preset("decision_compaction", environment={})
    job = assemble_job(preset, "compact_context")
    response = await job(**request_for(turn(), max_output_tokens=10))
    assert response.answer["stats"]["token_counter"] == {"name": "estimate", "approximate": True}
    assert job.describe_decision_model()["backend"] == "local"
    await job.aclose()

    model = assemble_component(preset, "as_decision_model.compaction")
    step = CompactContextStep(as_decision_model=model)
    assert (await step(**request_for(turn()))).answer["stats"]["asked"] == 3
    await model.aclose()


async def test_the_hosts_event_loop_goes_on_while_a_history_is_prepared() -> None:
    messages = [message.model_dump(mode="json") for message in turn() * 400]
    for index, message in enumerate(messages):
        for block in message["content"]:
            if block["type"] in {"tool_call", "tool_result"}:
                block["id"] = f"{index}-{block['id']}"
    request = {**request_for(turn()), "messages": messages}
    request["source_refs"] = {b["id"]: "archive" for m in messages for b in m["content"] if b["type"] == "tool_call"}
    turns = 0

    async def heartbeat() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    beating = asyncio.create_task(heartbeat())
    answer = (await CompactContextStep(as_decision_model=Classifier())(**request)).answer
    beating.cancel()
    assert answer["stats"]["asked"] > 1000
    assert turns > 100
