"""Evidence units: what the decision model is shown of each result it is asked about."""

from typing import Any

from reme_compact.history.excerpt import excerpt
from reme_compact.history.protection import Candidate
from reme_compact.history.supersession import Supersession
from reme_compact.history.text import has_lone_surrogate
from reme_compact.history.tool_input import tool_input_text


def build_evidence_unit(
    candidate: Candidate, superseded: Supersession | None, evidence_chars: int
) -> dict[str, Any] | None:
    """Return the unit of one candidate; null if it holds lone surrogates and so cannot be sent faithfully.

    Args:
        candidate: the pair.
        superseded: what later calls say about it.
        evidence_chars: most characters of its input, and of its result.
    """
    written_input = tool_input_text(candidate.call.call)
    if has_lone_surrogate(candidate.text) or has_lone_surrogate(written_input) or has_lone_surrogate(candidate.tool):
        return None
    unit: dict[str, Any] = {
        "id": candidate.call.id,
        "tool": candidate.tool,
        "input": _shown(written_input, evidence_chars),
        "input_complete": len(written_input) <= evidence_chars,
        "result": _shown(candidate.text, evidence_chars),
        "result_complete": len(candidate.text) <= evidence_chars,
        "result_chars": len(candidate.text),
    }
    if superseded is not None:
        if superseded.same_result_later:
            unit["same_result_later"] = True
        if superseded.same_input:
            unit["newer_results_for_same_input"] = superseded.same_input
        if superseded.same_target:
            unit["newer_results_for_same_target"] = superseded.same_target
    return unit


def _shown(text: str, limit: int) -> str:
    """Return an excerpt that is never the host's own text, unless that is ASCII.

    Writing a text as UTF-8 makes the interpreter keep the result beside it; that must not happen to a host's text.
    """
    shown = excerpt(text, limit)
    return shown.encode().decode() if shown is text and not text.isascii() else shown
