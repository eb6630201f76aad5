"""The gate that a proposal passes before it leaves: it breaks no rule of its provider that its source kept."""

from collections import Counter
from collections.abc import Mapping

from reme_compact.contract.errors import InvalidProposalError
from reme_compact.contract.messages import Block, Message
from reme_compact.history.formats.changed_texts import changed_texts
from reme_compact.history.formats.opening import OpenedHistory
from reme_compact.history.formats.protocol import HistoryFormatError, SourceMessage
from reme_compact.history.pairs import Location
from reme_compact.history.text import result_text

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
    if len(proposal) != len(history.source):
        raise _broken(ONLY_RESULTS_CHANGE, "", "another number of messages came out")
    texts: dict[int, dict[int, str]] = {}
    for (message_index, block_index), text in replaced.items():
        texts.setdefault(message_index, {})[block_index] = text
    touched = [
        index
        for index, (now, before) in enumerate(zip(proposal, history.source, strict=True))
        if now is not before or index in texts
    ]
    if not touched:
        return
    view = _read_again(history, proposal)
    _check_rules(history, proposal)
    for index in touched:
        expected = texts.get(index, {})
        if not _reads_as_it_should(view[index], history.view[index], expected):
            raise _broken(ONLY_RESULTS_CHANGE, f"[{index}]", "something in it does not read as it should")
        if not _differs_in_results_alone(history, proposal[index], index, expected):
            raise _broken(ONLY_RESULTS_CHANGE, f"[{index}]", "something other than the text of a result changed")


def _read_again(history: OpenedHistory, proposal: list[SourceMessage]) -> list[Message]:
    try:
        return history.format.read(proposal)
    except HistoryFormatError as error:
        raise _broken(ONLY_RESULTS_CHANGE, error.path, error.message) from None


def _reads_as_it_should(now: Message, before: Message, texts: Mapping[int, str]) -> bool:
    """Look at what the format reads: the replaced results say what they should, and all else what it did."""
    if {**now, "content": None} != {**before, "content": None} or len(now["content"]) != len(before["content"]):
        return False
    return all(
        _is_replaced(block, known, texts[at]) if at in texts else block == known
        for at, (block, known) in enumerate(zip(now["content"], before["content"], strict=True))
    )


def _is_replaced(block: Block, known: Block, text: str) -> bool:
    if known.get("type") != "tool_result" or {**block, "output": None} != {**known, "output": None}:
        return False
    return result_text(block) == text


def _differs_in_results_alone(history: OpenedHistory, now: SourceMessage, index: int, texts: Mapping[int, str]) -> bool:
    """Look at what the format does not read as well: each difference is the text of one replaced result."""
    content = history.view[index]["content"]
    expected = Counter((result_text(content[block]) or "", text) for block, text in texts.items())
    changes = changed_texts(history.source[index], now)
    return changes is not None and Counter(changes) == expected


def _check_rules(history: OpenedHistory, proposal: list[SourceMessage]) -> None:
    broken_before = {(violation.rule, violation.path) for violation in history.format.violations(history.source)}
    for violation in history.format.violations(proposal):
        if (violation.rule, violation.path) not in broken_before:
            raise _broken(violation.rule, violation.path, violation.message)


def _broken(rule: str, path: str, message: str) -> InvalidProposalError:
    return InvalidProposalError(f"The proposal would break the rule '{rule}' at messages{path}: {message}.")
