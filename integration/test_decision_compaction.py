"""Two synthetic investigations, compacted from start to end; their tool calls are never executed.

The local model runs always. With a hosted decision model, configured by the DECISION_MODEL_* variables:

    REME_RUN_DECISION_INTEGRATION=1 pytest integration/test_decision_compaction.py -v -s
"""

import copy
import os
from collections.abc import AsyncIterator
from typing import Any

import pytest
from scenarios.load import NAMES, Scenario, load_scenario

from reme_compact.compaction.step import CompactContextStep
from reme_compact.decision.local import LocalDecisionModel
from reme_compact.decision.protocol import OwnedDecisionModel
from reme_compact.presets.assemble import assemble_component
from reme_compact.presets.environment import read_environment
from reme_compact.presets.load import load_preset

pytestmark = pytest.mark.anyio

LIVE = "REME_RUN_DECISION_INTEGRATION"


@pytest.fixture(params=NAMES)
def scenario(request: pytest.FixtureRequest) -> Scenario:
    return load_scenario(request.param)


@pytest.fixture
async def hosted_model() -> AsyncIterator[OwnedDecisionModel]:
    if os.environ.get(LIVE) != "1":
        pytest.skip(f"asks a hosted decision model; set {LIVE}=1 and the DECISION_MODEL_* variables")
    environment = read_environment()
    if environment.get("DECISION_MODEL_BACKEND", "local") == "local":
        pytest.skip("no hosted decision model: set DECISION_MODEL_BACKEND to agentscope or agentscope_openai")
    model = assemble_component(load_preset("decision_compaction"), "as_decision_model.compaction")
    yield model
    await model.aclose()


def results(messages: list[dict[str, Any]]) -> dict[str, str]:
    return {
        block["id"]: block["output"]
        for message in messages
        for block in message["content"]
        if block["type"] == "tool_result"
    }


def without_results(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    stripped = copy.deepcopy(messages)
    for message in stripped:
        for block in message["content"]:
            if block["type"] == "tool_result":
                block["output"] = None
    return stripped


def previewed(answer: dict[str, Any]) -> set[str]:
    return {decision["call_id"] for decision in answer["decisions"] if decision["action"] == "preview"}


def print_table(scenario: Scenario, answer: dict[str, Any]) -> None:
    decisions = {decision["call_id"]: decision for decision in answer["decisions"]}
    stats = answer["stats"]
    print(f"\n{scenario.name}: {stats['chars_before']} -> {stats['chars_after']} characters, {stats['usage']}")
    for pair in scenario.pairs:
        decision = decisions[pair.call_id]
        probability = "-" if decision["probability"] is None else f"{decision['probability']:.3f}"
        label = "needed" if pair.needed else ""
        print(f"  {pair.call_id:<10} {probability:>6} {decision['action']:<8} {label:<7} {pair.why}")


def test_each_scenario_sets_much_unneeded_material_against_what_is_needed(scenario: Scenario) -> None:
    assert 14 <= len(scenario.pairs) <= 20
    assert 0.5 <= len(scenario.unneeded) / len(scenario.pairs) <= 0.65
    assert all(pair.why for pair in scenario.pairs)
    assert set(results(scenario.request["messages"])) == scenario.needed | scenario.unneeded


async def test_the_local_model_keeps_what_is_needed_and_shortens_most_of_the_rest(scenario: Scenario) -> None:
    step = CompactContextStep(as_decision_model=LocalDecisionModel(), token_counter=None)
    response = await step(**scenario.request)
    assert response.success
    shortened = previewed(response.answer)
    assert not shortened & scenario.needed
    assert len(shortened) >= len(scenario.unneeded) / 2
    assert response.answer["stats"]["asked"] == len(scenario.pairs)
    assert response.answer["stats"]["chars_after"] < response.answer["stats"]["chars_before"]


async def test_only_previewed_results_differ_and_each_names_where_its_original_is(scenario: Scenario) -> None:
    request = scenario.request
    untouched = copy.deepcopy(request)
    response = await CompactContextStep(as_decision_model=LocalDecisionModel(), token_counter=None)(**request)
    assert request == untouched
    before, after = results(request["messages"]), results(response.answer["messages"])
    assert without_results(response.answer["messages"]) == without_results(request["messages"])
    shortened = previewed(response.answer)
    assert {call_id for call_id in before if before[call_id] != after[call_id]} == shortened
    for call_id in shortened:
        assert len(after[call_id]) < len(before[call_id])
        assert after[call_id].endswith(f"[Compacted output. Recover from: {request['source_refs'][call_id]}]")


@pytest.mark.live
async def test_a_hosted_model_keeps_what_is_needed(scenario: Scenario, hosted_model: OwnedDecisionModel) -> None:
    step = CompactContextStep(as_decision_model=hosted_model, token_counter=None)
    response = await step(**scenario.request)
    print_table(scenario, response.answer)
    assert not response.answer["stats"]["errors"]
    assert not previewed(response.answer) & scenario.needed
