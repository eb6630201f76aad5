"""The options of one compaction."""

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


def _a_number(value: Any) -> Any:
    """Refuse booleans and numeric strings, which pydantic would otherwise read as numbers."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("must be a number")
    return value


Number = Annotated[float, BeforeValidator(_a_number)]
Count = Annotated[int, Field(strict=True)]


class CompactionOptions(BaseModel):
    """Limits of a compaction. Sizes of text are in characters, sizes of requests in estimated tokens."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    drop_threshold: Number = Field(
        default=0.1,
        ge=0,
        le=1,
        description="A result is replaced only at or below this probability of being needed.",
    )
    preserve_recent_messages: Count = Field(default=6, ge=0, description="The last N messages are kept as they are.")
    preserve_recent_pairs: Count | None = Field(
        default=None,
        ge=0,
        description="When set, replaces preserve_recent_messages: the last N tool pairs are kept wherever "
        "they stand. Use it when one message holds a whole agent turn.",
    )
    evidence_chars: Count = Field(
        default=2000,
        gt=0,
        description="Characters shown to the decision model per input, result or recent text.",
    )
    preview_chars: Count = Field(
        default=300, ge=0, description="Characters of the excerpt in a preview, without the recovery marker."
    )
    max_state_tokens: Count = Field(
        default=25000, gt=0, description="Largest state of one decision request, in estimated tokens."
    )
    max_request_tokens: Count = Field(
        default=30000,
        gt=0,
        description="Largest decision request (state, questions and 256 of overhead), in estimated tokens.",
    )
    max_output_tokens: Count | None = Field(
        default=None, gt=0, description="Budget of the compacted history, by the token counter. Needs one."
    )
    min_saved_tokens: Count | None = Field(
        default=None,
        gt=0,
        description="Change nothing at all unless at least so many tokens are saved; needs a token counter. Every "
        "change of an old message costs a provider's prompt cache.",
    )
    max_concurrency: Count = Field(default=4, ge=1, le=32, description="Decision requests in flight at once.")
    total_timeout_seconds: Number = Field(
        default=30, gt=0, description="One limit over packing, queueing and all decision requests."
    )
