"""The gate that a proposal passes before it leaves: it breaks no rule of its provider that its source kept."""

from collections.abc import Mapping

from reme_compact.contract.errors import InvalidProposalError
from reme_compact.history.formats.opening import OpenedHistory
from reme_compact.history.formats.protocol import SourceMessage
from reme_compact.history.pairs import Location

ONLY_RESULTS_CHANGE = "only_results_change"
"""Rule of every format: a proposal differs from its source in the texts of replaced results alone."""


def check_proposal(history: OpenedHistory, proposal: list[SourceMessage], replaced: Mapping[Location, str]) -> None:
    """Hold a proposal against its source.

    Args:
        history: the source.
        proposal: its messages, in the source's format.
        replaced: by where in the view a replaced result stands, what it reads now.

    Raises:
        InvalidProposalError: it breaks a rule that the source kept; says which and where.
    """
    texts: dict[int, dict[int, str]] = {}
    for (message_index, block_index), text in replaced.items():
        texts.setdefault(message_index, {})[block_index] = text
    if len(proposal) != len(history.source):
        raise _broken(ONLY_RESULTS_CHANGE, "", "another number of messages came out")
    for index, (now, before) in enumerate(zip(proposal, history.source, strict=True)):
        if now is not before and not _differs_in_results_alone(history, now, index, texts.get(index, {})):
            raise _broken(ONLY_RESULTS_CHANGE, f"[{index}]", "something other than the text of a result changed")
    if replaced and not history.is_own_view:
        _check_rules(history, proposal)


def _differs_in_results_alone(history: OpenedHistory, now: SourceMessage, index: int, texts: Mapping[int, str]) -> bool:
    before, read = history.source[index], history.view[index]["content"]
    if any(read[block].get("type") != "tool_result" for block in texts):
        return False
    if not history.is_own_view:
        # Put the new texts into the source's message again: it must become the proposal's.
        for block, text in sorted(texts.items()):
            before = history.format.with_output(before, block, text)
        return before == now
    if {**now, "content": None} != {**before, "content": None} or len(now["content"]) != len(read):
        return False
    return all(
        block == ({**known, "output": texts[at]} if at in texts else known)
        for at, (block, known) in enumerate(zip(now["content"], read, strict=True))
    )


def _check_rules(history: OpenedHistory, proposal: list[SourceMessage]) -> None:
    broken_before = {(violation.rule, violation.path) for violation in history.format.violations(history.source)}
    for violation in history.format.violations(proposal):
        if (violation.rule, violation.path) not in broken_before:
            raise _broken(violation.rule, violation.path, violation.message)


def _broken(rule: str, path: str, message: str) -> InvalidProposalError:
    return InvalidProposalError(f"The proposal would break the rule '{rule}' at messages{path}: {message}.")
