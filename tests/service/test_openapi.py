"""The OpenAPI document: complete, and its examples work."""

import copy
import json
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from reme_compact.compaction.step import CompactContextStep
from reme_compact.contract.options import CompactionOptions
from reme_compact.contract.request import CompactionRequest
from reme_compact.decision.protocol import BinaryAnswer, DecisionResponse
from reme_compact.presets.schema import ApiKeySettings, Preset, ServiceSettings
from reme_compact.service.app import create_app
from reme_compact.service.documented_archive import OriginalPiece
from reme_compact.service.documented_compaction import CompactionResponse
from reme_compact.service.problems import MEDIA_TYPE, Problem

Connect = Callable[[FastAPI], AbstractAsyncContextManager[httpx.AsyncClient]]


async def half_needed(_: Any, questions: Any) -> DecisionResponse:
    return DecisionResponse(content=dict.fromkeys(questions, BinaryAnswer(0.5)))


APP = create_app(step=CompactContextStep(as_decision_model=half_needed))
DOCUMENT = copy.deepcopy(APP.openapi())


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


def all_failures() -> Iterator[tuple[str, str, int, dict[str, Any]]]:
    for path, operations in DOCUMENT["paths"].items():
        for method, operation in operations.items():
            for status, answer in operation["responses"].items():
                if int(status) >= 400 and (path, int(status)) != ("/ready", 503):
                    yield method, path, int(status), answer


def test_every_failure_is_a_problem_with_an_example_of_each_code() -> None:
    failures = list(all_failures())
    assert len(failures) > 50
    for method, path, status, answer in failures:
        [(media_type, content)] = answer["content"].items()
        assert media_type == MEDIA_TYPE, (method, path, status)
        assert content["schema"] == {"$ref": "#/components/schemas/Problem"}
        assert content["examples"]
        for code, example in content["examples"].items():
            problem = Problem.model_validate(example["value"])
            assert (problem.code, problem.status) == (code, status)


@pytest.mark.parametrize(
    ("path", "method", "statuses"),
    [
        ("/health", "get", {200, 421, 500}),
        ("/compact_context", "post", {200, 400, 401, 403, 408, 409, 410, 413, 415, 421, 422, 429, 500, 503, 504}),
        ("/jobs/compact_context", "post", {200, 202, 400, 401, 403, 408, 413, 415, 421, 422, 429, 500, 503}),
        ("/jobs", "get", {200, 401, 421, 422, 500, 503}),
        ("/jobs/{job_id}", "get", {200, 401, 404, 410, 421, 500, 503}),
        ("/jobs/{job_id}", "delete", {200, 401, 403, 404, 410, 421, 500, 503}),
        ("/jobs/{job_id}/result", "get", {200, 401, 404, 409, 410, 421, 422, 500, 503, 504}),
        ("/jobs/{job_id}/events", "get", {200, 401, 404, 410, 421, 422, 500, 503}),
        ("/archive/{session_id}/{content}", "get", {200, 401, 404, 421, 422, 500, 503}),
    ],
)
def test_every_answer_of_a_path_is_described(path: str, method: str, statuses: set[int]) -> None:
    answers = DOCUMENT["paths"][path][method]["responses"]
    assert {int(status) for status in answers} == statuses
    again = {int(status) for status, answer in answers.items() if "Retry-After" in answer.get("headers", {})}
    assert {429, 503} & statuses <= again


def test_where_there_are_keys_every_path_but_health_needs_one() -> None:
    key = ApiKeySettings(sha256="0" * 64)
    guarded = create_app(Preset(service=ServiceSettings(api_keys={"agent": key}))).openapi()
    [scheme] = guarded["components"]["securitySchemes"]
    assert guarded["security"] == [{scheme: []}]
    assert DOCUMENT["security"] == [{}, {scheme: []}]
    assert guarded["paths"]["/health"]["get"]["security"] == []
    assert [path for path, one in guarded["paths"].items() for way in one.values() if "security" in way] == ["/health"]


def test_the_stream_of_events_and_the_headers_are_described() -> None:
    watch = DOCUMENT["paths"]["/jobs/{job_id}/events"]["get"]
    [media_type] = watch["responses"]["200"]["content"]
    assert media_type == "text/event-stream"
    assert "Last-Event-ID" in {parameter["name"] for parameter in watch["parameters"]}
    submit = DOCUMENT["paths"]["/jobs/compact_context"]["post"]
    named = {parameter["name"] for parameter in submit["parameters"]}
    assert named == {"Idempotency-Key", "Prefer", "start_within_seconds"}
    assert set(submit["responses"]["202"]["headers"]) >= {"Location", "Retry-After"}
    assert submit["responses"]["202"]["content"]["application/json"]["schema"] == {
        "$ref": "#/components/schemas/JobDocument"
    }


def test_reading_an_original_back_is_described_with_an_example() -> None:
    read = DOCUMENT["paths"]["/archive/{session_id}/{content}"]["get"]
    limits = {parameter["name"]: parameter["schema"] for parameter in read["parameters"]}
    assert set(limits) == {"session_id", "content", "offset", "max_chars"}
    assert limits["offset"] == {"type": "integer", "minimum": 0, "default": 0}
    assert limits["max_chars"] == {"type": "integer", "minimum": 1, "maximum": 16_384, "default": 8_192}
    content = read["responses"]["200"]["content"]["application/json"]
    assert content["schema"] == {"$ref": "#/components/schemas/OriginalPiece"}
    example = OriginalPiece.model_validate(content["example"])
    assert len(example.text) == example.next_offset
    assert re.fullmatch(f"archive/{limits['session_id']['pattern'][1:-1]}/[0-9a-f]{{64}}", example.ref)
    codes = set(read["responses"]["404"]["content"][MEDIA_TYPE]["examples"])
    assert codes == {"no_archive", "reference_not_found"}
    assert [path for path in DOCUMENT["paths"] if path.startswith("/archive")] == ["/archive/{session_id}/{content}"]


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
