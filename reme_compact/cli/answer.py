"""Whether an answer is a proposal that can be shown."""

from http import HTTPStatus
from typing import Any

from reme_compact.cli.decision_lines import is_foreign
from reme_compact.client import proposals
from reme_compact.client.answers import Answer


def proposal_of(answer: Answer) -> dict[str, Any]:
    """Return the standard response that a service answered.

    Raises:
        ServiceUnavailableError: it is none, so whoever answered is no service.

    """
    flaw = flaw_of(answer.value) if answer.status == HTTPStatus.OK else "no answer to this request"
    if flaw is not None:
        raise answer.unlike_a_service(flaw)
    response: dict[str, Any] = answer.value
    return response


def flaw_of(answer: Any) -> str | None:
    """Say what keeps an answer from being a standard response with a proposal in it that can be shown; else null."""
    flaw = proposals.flaw_of(answer)
    if flaw is None and not is_foreign(answer["answer"]) and not _have_blocks(answer["answer"]["messages"]):
        return "answer.messages: must be messages with lists of content blocks"
    return flaw


def _have_blocks(messages: list[dict[str, Any]]) -> bool:
    return all(
        isinstance(message.get("content"), list) and all(isinstance(block, dict) for block in message["content"])
        for message in messages
    )
