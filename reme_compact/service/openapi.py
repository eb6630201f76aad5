"""The parts of the OpenAPI document that are not read from the routes' response models."""

from http import HTTPStatus
from typing import Any

from pydantic import Field, JsonValue
from pydantic.json_schema import models_json_schema

from reme_compact.contract import errors
from reme_compact.contract.request import CompactionRequest
from reme_compact.contract.result import CompactionResult, Response
from reme_compact.service.problems import MEDIA_TYPE, RETRY_AFTER_SECONDS, Problem, problem_fields, status_and_title

_REFERENCE = "#/components/schemas/{model}"

DESCRIPTION = """\
Proposes a smaller history for an LLM agent: old tool results that are clearly no longer needed are replaced by an
excerpt and a reference from which the original can be read back. Nothing is changed or deleted here; applying a
proposal is up to the caller.

Every failure is a problem document (RFC 9457) with the fields `code`, `error`, `message` and `retryable`.
"""


class CompactionResponse(Response):
    """The standard envelope around a proposal."""

    answer: CompactionResult = Field(description="The proposal.")
    metadata: dict[str, JsonValue] = Field(
        default_factory=dict, description="`compaction` is the same object as `stats` of the proposal."
    )


REQUEST_BODY: dict[str, Any] = {
    "required": True,
    "content": {
        "application/json": {
            "schema": {"$ref": _REFERENCE.format(model="CompactionRequest")},
            "examples": {
                "too_short_to_shrink": {
                    "summary": "One old result, too short to get shorter",
                    "value": CompactionRequest.example,
                }
            },
        }
    },
}

_EXAMPLE_STATS: dict[str, Any] = {
    "messages_before": 3,
    "messages_after": 3,
    "chars_before": 416,
    "chars_after": 416,
    "tokens_before": None,
    "tokens_after": None,
    "candidates": 1,
    "protected": 0,
    "state_tokens": 0,
    "requests": 0,
    "usage": [],
    "elapsed_ms": 1,
    "asked": 0,
    "protected_by": {},
    "details": {},
    "errors": [],
    "warnings": [],
    "token_counter": None,
    "explanations": {},
}

_EXAMPLE_RESPONSE: dict[str, Any] = {
    "answer": {
        "schema_version": 2,
        "messages": CompactionRequest.example["messages"],
        "decisions": [
            {
                "id": "t1",
                "call_id": "c1",
                "action": "keep",
                "reason": "no_savings",
                "probability": None,
                "source_ref": "archive/demo/c1",
            }
        ],
        "changed": False,
        "reason": "no_change",
        "budget_met": None,
        "stats": _EXAMPLE_STATS,
    },
    "success": True,
    "metadata": {"compaction": _EXAMPLE_STATS},
}

_EXAMPLES: dict[str, errors.ReMeError] = {
    "Not JSON": errors.InvalidJSONError("Not valid JSON: Expecting value at line 1, column 1."),
    "Too slow": errors.RequestTimeoutError("The body did not arrive within 30 s (service.request_read_seconds)."),
    "Too large": errors.RequestTooLargeError("The body is larger than 67108864 bytes (service.max_body_bytes)."),
    "Not declared as JSON": errors.UnsupportedMediaTypeError(
        "Send the request as JSON, with the header Content-Type: application/json."
    ),
    "Unknown option": errors.InvalidRequestError(
        [{"path": "options.drop_treshold", "message": "unknown key; did you mean 'drop_threshold'?"}]
    ),
    "Token counter failed": errors.TokenCounterError("The token counter 'o200k_base' failed: ValueError."),
    "Missing extra": errors.MissingExtraError("The token counter 'o200k_base'", "tokenizers"),
    "Busy": errors.TooBusyError("The service already works on 64 requests, its limit. Try again shortly."),
}

_EXAMPLE_INSTANCE = "urn:uuid:6d0c5f0e-3c5e-4a57-9d5b-0a8f4c1f2b11"

_MEANINGS: dict[HTTPStatus, str] = {
    HTTPStatus.BAD_REQUEST: "The body is empty, is not JSON, or is JSON that cannot be carried faithfully.",
    HTTPStatus.REQUEST_TIMEOUT: "The body did not arrive in time.",
    HTTPStatus(413): "The body is larger than the configured limit.",
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: "The body is not declared as plain JSON.",
    HTTPStatus(422): "The request breaks the contract, or its token counter failed or is not installed.",
    HTTPStatus.INTERNAL_SERVER_ERROR: "The service is configured wrongly, or failed unexpectedly.",
    HTTPStatus.SERVICE_UNAVAILABLE: "The service works on as many requests as it accepts, or is stopping.",
}


def proposal_responses() -> dict[int | str, dict[str, Any]]:
    """Describe every way in which `POST /compact_context` can answer."""
    described: dict[int | str, dict[str, Any]] = {
        200: {
            "description": "A proposal was made, also when it changes nothing.",
        }
    }
    for status, meaning in _MEANINGS.items():
        described[int(status)] = {
            "description": meaning,
            "content": {
                MEDIA_TYPE: {
                    "schema": {"$ref": _REFERENCE.format(model="Problem")},
                    "examples": _examples(status),
                }
            },
        }
    described[503]["headers"] = {
        "Retry-After": {
            "description": "Seconds to wait.",
            "schema": {"type": "integer"},
            "example": RETRY_AFTER_SECONDS,
        }
    }
    return described


def complete(document: dict[str, Any]) -> dict[str, Any]:
    """Add the schemas that routes refer to by name, and the example whose nulls FastAPI would leave out."""
    models: list[Any] = [(CompactionRequest, "validation"), (Problem, "serialization")]
    _, definitions = models_json_schema(models, ref_template=_REFERENCE)
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    schemas.update(definitions["$defs"])
    proposal = document["paths"]["/compact_context"]["post"]["responses"]["200"]
    proposal["content"]["application/json"]["example"] = _EXAMPLE_RESPONSE
    return document


def _examples(status: HTTPStatus) -> dict[str, Any]:
    return {
        error.code: {"summary": summary, "value": problem_fields(error, instance=_EXAMPLE_INSTANCE)}
        for summary, error in _EXAMPLES.items()
        if status_and_title(type(error))[0] == status
    }
