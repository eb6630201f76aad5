"""The bundled history is what it says it is, and the embedding example runs."""

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

from reme_compact.compaction.step import CompactContextStep
from reme_compact.contract.request import CompactionRequest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def request_of_the_demo() -> dict[str, Any]:
    request: dict[str, Any] = json.loads((EXAMPLES / "incident_request.json").read_text(encoding="utf-8"))
    return request


def test_the_bundled_request_keeps_the_contract(request_of_the_demo: dict[str, Any]) -> None:
    request = CompactionRequest.parse(request_of_the_demo)
    blocks = [block for message in request.messages for block in message["content"]]
    calls = {block["id"]: block for block in blocks if block["type"] == "tool_call"}
    results = {block["id"]: block for block in blocks if block["type"] == "tool_result"}
    assert {block["state"] for block in results.values()} == {"success", "error"}
    assert set(calls) - set(results) == {"call_30"}
    assert set(request.source_refs) | set(request.protected_call_ids) <= set(calls)
    assert {calls[call_id]["name"] for call_id in request.source_refs} == set(request.eligible_tool_names)


def test_the_embedding_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLES / "embed.py"), run_name="__main__")
    local, own = capsys.readouterr().out.splitlines()
    assert local.startswith("local model: ")
    assert local.endswith("(compacted)")
    assert own.startswith("own model: ")
    assert own.endswith("(compacted)")


@pytest.mark.anyio
async def test_the_demo_keeps_what_the_incident_turns_on(request_of_the_demo: dict[str, Any]) -> None:
    evidence = {"call_12", "call_15", "call_17", "call_19", "call_20", "call_23"}
    finished_task = {f"call_{number:02d}" for number in range(1, 11)}
    response = await CompactContextStep(as_decision_model="local")(**request_of_the_demo)
    replaced = {decision["call_id"] for decision in response.answer["decisions"] if decision["action"] == "preview"}
    assert not replaced & evidence
    assert replaced & finished_task
