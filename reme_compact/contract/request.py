"""What a host sends: a history, what it is about to do, and what must not be touched."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from reme_compact.contract.errors import InvalidRequestError
from reme_compact.contract.formats import FormatName
from reme_compact.contract.messages import Messages
from reme_compact.contract.options import CompactionOptions
from reme_compact.contract.validation import problems_of


def _blank_is_absent(text: str | None) -> str | None:
    return text if text is not None and text.strip() else None


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must be a text that is not blank")
    return text


OptionalText: TypeAlias = Annotated[str | None, AfterValidator(_blank_is_absent)]


def _a_name(value: object) -> object:
    if value is not None and not isinstance(value, str):
        raise ValueError(
            "must be the name of a registered token counter; pass a function as CompactContextStep(token_counter=...)"
        )
    return value


CounterName: TypeAlias = Annotated[str | None, BeforeValidator(_a_name), AfterValidator(_blank_is_absent)]


class ArchiveTarget(BaseModel):
    """Where in the archive the originals of a history are kept."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    session: Annotated[str, AfterValidator(_not_blank)] = Field(
        description="What the host calls the agent's session; its originals are read back under it."
    )


class CompactionRequest(BaseModel):
    """One request for a proposal (schema_version 2)."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    format: FormatName | None = Field(
        default=None, description="How the messages are written; left out: it is told from what stands in them."
    )
    messages: Messages = Field(description="The history, oldest message first; never changed.")
    goal: OptionalText = Field(
        default=None, description="What the agent is to achieve. Without it the last user text serves."
    )
    next_action: OptionalText = Field(default=None, description="What the agent is about to do.")
    source_refs: dict[str, str] = Field(
        default_factory=dict,
        description="Per tool call id, the reference under which the host keeps the original.",
    )
    protected_message_ids: list[str] = Field(
        default_factory=list, description="Messages whose tool pairs are kept as they are."
    )
    protected_call_ids: list[str] = Field(default_factory=list, description="Tool calls that are kept as they are.")
    eligible_tool_names: list[str] = Field(
        default_factory=list, description="Tools whose results may be replaced. Empty: none."
    )
    options: CompactionOptions = Field(default_factory=CompactionOptions)
    token_counter: CounterName = Field(
        default=None, description="Name of a registered token counter that measures max_output_tokens."
    )

    archive: ArchiveTarget | None = Field(
        default=None,
        description="Keep the originals of eligible results without a source ref in the archive, for this session.",
    )

    example: ClassVar[dict[str, Any]] = {
        "goal": "Fix payment retries",
        "next_action": "Review the retry implementation",
        "eligible_tool_names": ["search_code"],
        "source_refs": {"c1": "archive/demo/c1"},
        "options": {"preserve_recent_messages": 1},
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Retries charge twice, fix them"}]},
            {
                "role": "assistant",
                "content": [
                    {
                        "type": "tool_call",
                        "id": "c1",
                        "name": "search_code",
                        "input": '{"path":"icons"}',
                        "state": "finished",
                    },
                    {
                        "type": "tool_result",
                        "id": "c1",
                        "name": "search_code",
                        "output": "icons/cart.svg, icons/user.svg",
                        "state": "success",
                    },
                ],
            },
            {"role": "user", "content": [{"type": "text", "text": "Now look at the payment code"}]},
        ],
    }

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> "CompactionRequest":
        """Validate request keys.

        Raises:
            InvalidRequestError: names every key that is unknown, missing or wrong.

        """
        try:
            return cls.model_validate(dict(values))
        except ValidationError as error:
            raise InvalidRequestError(problems_of(error, cls)) from None
