"""What `/health` and `/ready` say."""

from dataclasses import asdict
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from reme_compact.contract.errors import StoreUnavailableError
from reme_compact.decision.health import LastRequest
from reme_compact.jobs.deployment import Deployment, EmbeddedDeployment
from reme_compact.jobs.runner import MissingPart, Part
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


class Missing(BaseModel):
    """A part without which jobs are not run, or do no more than keep everything."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    part: Part
    message: str = Field(description="What is wrong and how to mend it.")


class Readiness(BaseModel):
    """Whether proposals can be expected to do more than keep everything."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    status: Literal["ready", "degraded"]
    missing: list[Missing] = Field(description="Each part that is missing; empty if the service is ready.")
    decision_model: DecisionModelDescription
    last_request: LastDecisionRequest | None = Field(
        description="null before the first decision request, and when the latest is too old to say anything."
    )


async def readiness(state: ServiceState) -> Readiness:
    """Judge readiness by the parts that jobs need, and by the latest decision request if there was one lately."""
    deployment = state.deployment
    try:
        missing = await missing_parts(state)
        last = await deployment.last_decision_request()
    except StoreUnavailableError as error:
        missing, last = [MissingPart("store", error.message)], None
    return Readiness(
        status="degraded" if missing else "ready",
        missing=[Missing(part=found.part, message=found.message) for found in missing],
        decision_model=DecisionModelDescription.model_validate(deployment.describe_decision_model()),
        last_request=last and LastDecisionRequest.model_validate(asdict(last)),
    )


async def missing_parts(state: ServiceState) -> list[MissingPart]:
    """Return each part without which jobs are not run, or keep everything.

    Raises:
        StoreUnavailableError: the store cannot be reached, so nothing else is known.
    """
    deployment = state.deployment
    missing = await deployment.runner.missing()
    if any(found.part == "store" for found in missing):
        return missing
    missing = await _with_decision_model(deployment, missing)
    # Workers archive by themselves, and perhaps from where this process can only read.
    archive = deployment.archive if isinstance(deployment, EmbeddedDeployment) else None
    problem = await state.archive_health.problem(archive) if archive is not None else None
    return missing if problem is None else [*missing, MissingPart("archive", problem)]


async def _with_decision_model(deployment: Deployment, missing: list[MissingPart]) -> list[MissingPart]:
    last = await deployment.last_decision_request()
    if last is None or last.worked or any(found.part == "decision_model" for found in missing):
        return missing
    return [*missing, MissingPart("decision_model", _failure(last))]


def _failure(last: LastRequest) -> str:
    return last.error["message"] if last.error is not None else "The last decision request failed."
