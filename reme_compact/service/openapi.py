"""The parts of the OpenAPI document that are not read from the routes."""

from typing import Any

from pydantic.json_schema import models_json_schema

from reme_compact.contract.request import CompactionRequest
from reme_compact.service.documented_compaction import EXAMPLE_RESPONSE
from reme_compact.service.problems import Problem

_REFERENCE = "#/components/schemas/{model}"
_PROPOSALS = (("/compact_context", "post"), ("/jobs/{job_id}/result", "get"))
_SCHEME = "api_key"

DESCRIPTION = """\
Proposes a smaller history for an LLM agent: old tool results that are clearly no longer needed are replaced by an
excerpt and a reference from which the original can be read back. Nothing is changed or deleted here; applying a
proposal is up to the caller.

Every failure is a problem document (RFC 9457) with the fields `code`, `error`, `message` and `retryable`.
"""


def complete(document: dict[str, Any], *, needs_key: bool) -> dict[str, Any]:
    """Add what routes refer to by name, examples whose nulls FastAPI would leave out, and who may ask.

    Args:
        document: as FastAPI makes it.
        needs_key: there are API keys, so requests need one.

    """
    models: list[Any] = [(CompactionRequest, "validation"), (Problem, "serialization")]
    _, definitions = models_json_schema(models, ref_template=_REFERENCE)
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    schemas.update(definitions["$defs"])
    for path, method in _PROPOSALS:
        proposal = document["paths"][path][method]["responses"]["200"]
        proposal["content"]["application/json"]["example"] = EXAMPLE_RESPONSE
    _drop_what_cannot_happen(document)
    components["securitySchemes"] = {
        _SCHEME: {"type": "http", "scheme": "bearer", "description": "An API key, where there are any."}
    }
    document["security"] = [{_SCHEME: []}] if needs_key else [{}, {_SCHEME: []}]
    document["paths"]["/health"]["get"]["security"] = []
    return document


def _drop_what_cannot_happen(document: dict[str, Any]) -> None:
    """Remove the framework's own refusal, which it describes for every path with a parameter; ours is a `Problem`."""
    for operations in document["paths"].values():
        for operation in operations.values():
            refusal = operation["responses"].get("422", {})
            if "application/json" in refusal.get("content", {}):
                del operation["responses"]["422"]
    for name in ("HTTPValidationError", "ValidationError"):
        document["components"]["schemas"].pop(name, None)
