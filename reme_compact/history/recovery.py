"""The recovery tool as it stands in a history: what it is called, and how long its results are left alone."""

from typing import Any, Protocol

RECOVERY_TOOL = "recover_tool_result"
"""Name of the tool with which an agent reads an original back."""

REFERENCE_INPUT = "ref"
"""The key of its input that names the original."""

RECOVERED_PAIRS_KEPT = 5
"""What an agent read back is kept as long as its pair is one of the last so many of the history."""


class SessionReferences(Protocol):
    """References to what one session keeps, or is about to keep."""

    def to(self, text: str) -> str:
        """Return the reference under which a text is found once it is kept."""

    def copied(self, text: str) -> str | None:
        """Return the reference of this session that an agent copied, perhaps with the words around it; null: none.

        Whether anything is kept under it is another question.
        """


def recovered_reference(tool: str, tool_input: dict[str, Any], references: SessionReferences) -> str | None:
    """Return the reference that a call of the recovery tool read back; null: it is no such call."""
    reference = tool_input.get(REFERENCE_INPUT) if tool == RECOVERY_TOOL else None
    return references.copied(reference) if isinstance(reference, str) else None
