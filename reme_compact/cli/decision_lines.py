"""Every decision of a proposal as one line of text, whoever wrote the history."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reme_compact.cli.printable import printable, shorten

_LONGEST = {"tool": 20, "call": 18, "reference": 30}
_FEWEST_DIGITS = 3
_MOST_DIGITS = 18


@dataclass(frozen=True, slots=True)
class DecisionLine:
    """One decision as the report shows it; every text is printable."""

    id: str
    tool: str
    call: str
    action: str
    probability: str
    reason: str
    detail: str
    reference: str
    explanation: str

    @property
    def why(self) -> str:
        """Reason and detail together, once if they are the same."""
        return f"{self.reason}: {self.detail}" if self.detail not in ("", self.reason) else self.reason


def decision_lines(result: Mapping[str, Any], threshold: float) -> list[DecisionLine]:
    """Join decisions with tool names, details and explanations, ready to be shown.

    Args:
        result: the proposal.
        threshold: the `drop_threshold` it was made with.

    """
    stats = result.get("stats") or {}
    details, explanations = stats.get("details") or {}, stats.get("explanations") or {}
    names = tool_names(readable_messages(result))
    name_of = dict(names)
    lines = []
    for index, decision in enumerate(result.get("decisions") or []):
        by_position = names[index] if index < len(names) else ("", "")
        name = by_position[1] if by_position[0] == decision["call_id"] else name_of.get(decision["call_id"], "")
        probability = decision.get("probability")
        lines.append(
            DecisionLine(
                id=printable(decision["id"]),
                tool=shorten(name, _LONGEST["tool"]),
                call=shorten(decision["call_id"], _LONGEST["call"]),
                action=printable(decision["action"]),
                probability="-" if probability is None else probability_text(probability, threshold),
                reason=printable(decision["reason"]),
                detail=shorten(details.get(decision["id"], ""), 60),
                reference=shorten(decision.get("source_ref") or "", _LONGEST["reference"]),
                explanation=printable(explanations.get(decision["id"]) or ""),
            )
        )
    return lines


def is_foreign(result: Mapping[str, Any]) -> bool:
    """Tell whether a proposal says that its messages are not written as AgentScope's."""
    return _format_of(result) not in (None, "agentscope")


def _format_of(result: Mapping[str, Any]) -> str | None:
    stats = result.get("stats")
    name = stats.get("format") if isinstance(stats, Mapping) else None
    return name if isinstance(name, str) else None


def readable_messages(result: Mapping[str, Any]) -> list[Any]:
    """Return the messages of a proposal in AgentScope's structure; none, if they cannot be read."""
    messages: list[Any] = result.get("messages") or []
    if not is_foreign(result):
        return messages
    from reme_compact.history.formats.protocol import HistoryFormatError  # noqa: PLC0415 - a call is mostly start-up
    from reme_compact.history.formats.registry import FORMATS  # noqa: PLC0415 - a call is mostly start-up

    known = next((known for name, known in FORMATS.items() if name == _format_of(result)), None)
    try:
        return known.read(messages) if known is not None else []
    except HistoryFormatError:
        return []


def tool_names(messages: list[Any]) -> list[tuple[str, str]]:
    """Return call id and tool name of every tool call with an id, in order of appearance."""
    return [
        (block["id"], str(block.get("name", "")))
        for message in messages
        for block in blocks_of(message)
        if block.get("type") == "tool_call" and isinstance(block.get("id"), str) and block["id"]
    ]


def blocks_of(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the content blocks of a message; none, if its content is anything else."""
    content = message.get("content")
    return [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []


def probability_text(probability: float, threshold: float) -> str:
    """Write a probability with three digits, or with as many as show on which side of the threshold it is."""
    side = (probability > threshold) - (probability < threshold)
    texts = (f"{probability:.{digits}f}" for digits in range(_FEWEST_DIGITS, _MOST_DIGITS))
    return next(
        (text for text in texts if (float(text) > threshold) - (float(text) < threshold) == side), repr(probability)
    )
