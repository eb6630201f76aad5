"""What a host gets back: a proposal (schema_version 2) inside the standard response."""

from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, JsonValue

Action: TypeAlias = Literal["keep", "preview"]

DecisionReason: TypeAlias = Literal[
    "protected",
    "within_budget",
    "unobserved",
    "invalid_answer",
    "model_error",
    "timeout",
    "needed_or_uncertain",
    "no_savings",
    "low_relevance",
]

ResultReason: TypeAlias = Literal["compacted", "no_candidates", "no_change", "budget_exceeded"]


class CallDecision(BaseModel):
    """What was decided about one tool call, and why."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    id: str = Field(description="t1..tn, in order of appearance.")
    call_id: str
    action: Action
    reason: DecisionReason
    probability: float | None = Field(default=None, ge=0, le=1, description="That the result is still needed.")
    source_ref: str | None = None


class CompactionResult(BaseModel):
    """A proposal; applying it is up to the host."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    schema_version: Literal[2] = 2
    messages: list[dict[str, JsonValue]]
    decisions: list[CallDecision] = Field(default_factory=list)
    changed: bool
    reason: ResultReason
    budget_met: bool | None = Field(default=None, description="null without a budget.")
    stats: dict[str, JsonValue] = Field(default_factory=dict)


class Response(BaseModel):
    """The standard envelope.

    `answer` is a `CompactionResult` as plain data; `metadata["compaction"]` is the same object as its `stats`.
    """

    model_config = ConfigDict(extra="allow")

    answer: Any = Field(default="", description="The proposal.")
    success: bool = True
    metadata: dict[str, Any] = Field(default_factory=dict)
