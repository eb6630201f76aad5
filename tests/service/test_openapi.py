"""The OpenAPI document is true: generated requests are answered as it says, and its examples work."""

import copy
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest
import schemathesis
from fastapi import FastAPI
from hypothesis import settings
from schemathesis import Case
from schemathesis.specs.openapi.checks import positive_data_acceptance

from reme_compact.compaction.step import CompactContextStep
from reme_compact.contract.options import CompactionOptions
from reme_compact.contract.request import CompactionRequest
from reme_compact.decision.protocol import BinaryAnswer, DecisionResponse
from reme_compact.service.app import create_app
from reme_compact.service.openapi import CompactionResponse
from reme_compact.service.problems import MEDIA_TYPE, Problem

Connect = Callable[[FastAPI], httpx.AsyncClient]


async def half_needed(_: Any, questions: Any) -> DecisionResponse:
    return DecisionResponse(content=dict.fromkeys(questions, BinaryAnswer(0.5)))


def is_beyond_a_schema(path: str, body: dict[str, Any]) -> bool:
    """Tell whether a refusal is for something that a schema cannot say.

    Which counters are registered, that a budget needs one, and that 1.0 is no whole number.
    """
    if path in {"token_counter", "options.max_output_tokens"}:
        return True
    owner, _, name = path.partition(".")
    return owner == "options" and isinstance(body["options"][name], float)


APP = create_app(step=CompactContextStep(as_decision_model=half_needed))
DOCUMENT = copy.deepcopy(APP.openapi())
SCHEMA = schemathesis.openapi.from_asgi("/openapi.json", APP)


@SCHEMA.parametrize()
@settings(max_examples=30, deadline=None)
def test_generated_requests_are_answered_as_documented(case: Case[Any]) -> None:
    answer = case.call_and_validate(excluded_checks=[positive_data_acceptance])
    if case.meta is not None and case.meta.generation.mode.is_positive and answer.status_code != 200:
        assert answer.status_code == 422
        assert isinstance(case.body, dict)
        for problem in answer.json()["problems"]:
            assert is_beyond_a_schema(problem["path"], case.body)


def described(status: int) -> Any:
    return DOCUMENT["paths"]["/compact_context"]["post"]["responses"][str(status)]["content"]


@pytest.mark.anyio
async def test_the_example_request_gets_the_example_answer(connect: Connect) -> None:
    body = DOCUMENT["paths"]["/compact_context"]["post"]["requestBody"]["content"]["application/json"]
    [example] = body["examples"].values()
    assert example["value"] == CompactionRequest.example
    async with connect(APP) as client:
        answer = await client.post("/compact_context", json=example["value"])
    assert answer.status_code == 200
    shown = CompactionResponse.model_validate(described(200)["application/json"]["example"])
    given = CompactionResponse.model_validate(answer.json())
    for one in (shown, given):
        assert one.metadata == {"compaction": one.answer.stats}
        one.metadata.clear()
        one.answer.stats["elapsed_ms"] = 0
    assert given == shown


def test_every_typed_error_that_a_client_can_meet_has_an_example() -> None:
    statuses = {int(status) for status in DOCUMENT["paths"]["/compact_context"]["post"]["responses"]}
    assert statuses == {200, 400, 408, 413, 415, 422, 500, 503}
    for status in statuses - {200}:
        [(media_type, content)] = described(status).items()
        assert media_type == MEDIA_TYPE
        assert content["schema"] == {"$ref": "#/components/schemas/Problem"}
        for code, example in content["examples"].items():
            problem = Problem.model_validate(example["value"])
            assert (problem.code, problem.status) == (code, status)


def test_options_are_described_with_their_limits() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    options = schemas["CompactionOptions"]["properties"]
    assert set(options) == set(CompactionOptions.model_fields)
    assert all(field["description"] for field in options.values())
    assert (options["drop_threshold"]["minimum"], options["drop_threshold"]["maximum"]) == (0, 1)
    assert (options["max_concurrency"]["minimum"], options["max_concurrency"]["maximum"]) == (1, 32)
    assert schemas["CompactionRequest"]["additionalProperties"] is False
    assert "metadata" in schemas["CompactionResponse"]["properties"]
    assert schemas["CompactionResult"]["additionalProperties"] is False


def test_every_reference_leads_somewhere() -> None:
    text = json.dumps(DOCUMENT)
    names = {part.partition('"')[0] for part in text.split('"#/components/schemas/')[1:]}
    assert names <= set(DOCUMENT["components"]["schemas"])
    assert "HTTPValidationError" not in text
