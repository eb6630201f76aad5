"""A compaction, as the OpenAPI document describes it: what is sent, and what comes back."""

from typing import Any

from pydantic import Field, JsonValue

from reme_compact.contract import errors
from reme_compact.contract.request import CompactionRequest
from reme_compact.contract.result import CompactionResult, Response
from reme_compact.service.documented_failures import ADMISSION, ANY_BODY, ANY_CHANGE, Responses, failures
from reme_compact.service.documented_headers import REPLAYED


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
            "schema": {"$ref": "#/components/schemas/CompactionRequest"},
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
    "archived": None,
    "format": "agentscope",
    "first_changed_message": None,
    "chars_from_first_change": None,
    "tokens_from_first_change": None,
    "explanations": {},
}

EXAMPLE_RESPONSE: dict[str, Any] = {
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


def proposal_responses() -> Responses:
    """Describe every way in which `POST /compact_context` can answer."""
    refused = failures(
        *ANY_CHANGE,
        *ANY_BODY,
        *ADMISSION,
        errors.TokenCounterError,
        errors.JobCancelledError,
        errors.JobExpiredError,
        errors.StartTimeoutError,
    )
    return {200: {"description": "A proposal was made, also when it changes nothing.", "headers": REPLAYED}} | refused
