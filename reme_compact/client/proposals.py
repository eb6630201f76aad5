"""Whether an answer is a proposal: checked once, before anything relies on its shape."""

from http import HTTPStatus
from typing import Any

from pydantic import ValidationError

from reme_compact.client.answers import Answer
from reme_compact.contract.result import CallDecision, CompactionResult, Response
from reme_compact.contract.validation import problems_of


def response_of(answer: Answer) -> Response:
    """Return the standard response that a service answered.

    Raises:
        ServiceUnreachableError: it is none, so whoever answered is no service.

    """
    flaw = flaw_of(answer.value) if answer.status == HTTPStatus.OK else "no answer to this request"
    if flaw is None:
        try:
            return Response.model_validate(answer.value)
        except ValidationError:
            flaw = "no standard response"
    raise answer.unlike_a_service(flaw)


def flaw_of(answer: Any) -> str | None:
    """Say what keeps an answer from being a standard response with a proposal in it; null if nothing does.

    Further fields are let through, and statistics of any shape: a newer service may have more to say. Messages come
    back in the format in which they were sent, so nothing but that they are objects is asked of them.
    """
    if not isinstance(answer, dict) or not isinstance(answer.get("success"), bool):
        return "no standard response"
    result = answer.get("answer")
    if not isinstance(result, dict) or not result.keys() >= {"messages", "decisions"}:
        return "no proposal"
    messages = result["messages"]
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        return "answer.messages: must be a list of objects"
    decisions = result["decisions"]
    known = _known_fields(CompactionResult, result) | {
        "messages": [],  # looked at above: what is in them is their format's, and there may be many
        "stats": {},
        "decisions": [_known_fields(CallDecision, one) for one in decisions]
        if isinstance(decisions, list)
        else decisions,
    }
    try:
        CompactionResult.model_validate(known, strict=True)
    except ValidationError as error:
        problem = problems_of(error, CompactionResult)[0]
        return f"answer.{problem['path']}: {problem['message']}"
    return None


def _known_fields(model: type[CompactionResult | CallDecision], value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {name: _without_surrogates(value[name]) for name in model.model_fields if name in value}


def _without_surrogates(value: Any) -> Any:
    """Replace lone surrogates, which an id or a reference may hold and the model would refuse."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
