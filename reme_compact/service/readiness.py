"""What `/health` and `/ready` say."""

from dataclasses import asdict
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from reme_compact.service.problems import FourFields
from reme_compact.service.state import ServiceState


class Liveness(BaseModel):
    """The process answers."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    status: Literal["alive"] = "alive"
    version: str = Field(description="Version of reme-compact.")


class DecisionModelDescription(BaseModel):
    """Which decision model judges tool pairs."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    backend: str
    model: str | None = Field(description="null: the provider's default.")


class LastDecisionRequest(BaseModel):
    """How the latest decision request ended."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    worked: bool
    at: datetime
    error: FourFields | None


class Readiness(BaseModel):
    """Whether proposals can be expected to do more than keep everything."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    status: Literal["ready", "degraded"]
    decision_model: DecisionModelDescription
    last_request: LastDecisionRequest | None = Field(
        description="null before the first decision request, and when the latest is too old to say anything."
    )


def readiness(state: ServiceState) -> Readiness:
    """Judge readiness by the latest decision request; without one, the service is ready."""
    last = state.step.health.last_request
    return Readiness(
        status="ready" if last is None or last.worked else "degraded",
        decision_model=DecisionModelDescription.model_validate(state.step.describe_decision_model()),
        last_request=last and LastDecisionRequest.model_validate(asdict(last)),
    )
