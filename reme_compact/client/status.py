"""What a service says about itself."""

from datetime import datetime
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from reme_compact.client.answers import Answer
from reme_compact.client.calls import Call, Conversation
from reme_compact.client.sent import json_sent
from reme_compact.contract.job import JobError

_NOT_READY = 503
_SHORT_SECONDS = 10.0


class _Said(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


_Kind = TypeVar("_Kind", bound=_Said)


class Health(_Said):
    """The process answers."""

    status: str
    version: str = Field(description="Version of reme-compact.")


class MissingPart(_Said):
    """A part without which jobs are not run, or do no more than keep everything."""

    part: str = Field(description="store, worker, decision_model, archive, or what a newer service may miss.")
    message: str = Field(description="What is wrong and how to mend it.")


class DecisionModelDescription(_Said):
    """Which decision model judges tool pairs."""

    backend: str
    model: str | None = Field(description="null: the provider's default.")


class LastDecisionRequest(_Said):
    """How the latest decision request ended."""

    worked: bool
    at: datetime
    error: JobError | None = None


class Readiness(_Said):
    """Whether proposals can be expected to do more than keep everything."""

    status: str
    missing: list[MissingPart] = Field(description="Each part that is missing; empty if the service is ready.")
    decision_model: DecisionModelDescription
    last_request: LastDecisionRequest | None = None

    @property
    def is_ready(self) -> bool:
        """Whether every part is there, and the last decision request worked or none is known."""
        return self.status == "ready"


def ask_health() -> Conversation[Health]:
    """Ask whether the process is alive."""
    answer = yield Call(json_sent("GET", "/health"), default_seconds=_SHORT_SECONDS)
    return _said(Health, answer)


def ask_readiness() -> Conversation[Readiness]:
    """Ask what is missing; a service that is not ready answers that and does not refuse."""
    answer = yield Call(json_sent("GET", "/ready"), default_seconds=_SHORT_SECONDS, accepts=frozenset({_NOT_READY}))
    return _said(Readiness, answer)


def _said(model: type[_Kind], answer: Answer) -> _Kind:
    try:
        return model.model_validate(answer.value)
    except ValidationError:
        raise answer.unlike_a_service(f"no {model.__name__.lower()}") from None
