"""What has to hold for any history in any format: nothing changes but the texts of results that were replaced."""

import copy
from collections.abc import Iterator
from typing import Any

from reme_compact.history.formats.foreign_draft import draft_of
from reme_compact.history.formats.gate import check_proposal
from reme_compact.history.formats.opening import OpenedHistory
from reme_compact.history.formats.protocol import HistoryFormat
from reme_compact.history.pairs import Location
from reme_compact.history.text import result_text

Item = dict[str, Any]
MARKER = "[Compacted output. Recover from: archive/x]"


def opened(known: HistoryFormat, source: list[Item]) -> OpenedHistory:
    return OpenedHistory(known, source, known.read(source))


def text_results(history: OpenedHistory) -> list[Location]:
    """Return where in the view the results stand that are text."""
    return [
        (index, position)
        for index, message in enumerate(history.view)
        for position, block in enumerate(message["content"])
        if block["type"] == "tool_result" and result_text(block) is not None
    ]


def check_identity(known: HistoryFormat, source: list[Item]) -> None:
    """Without a preview a history comes back as the source's own objects, which reading left as they were."""
    before = copy.deepcopy(source)
    history = opened(known, source)
    draft = draft_of(history)
    assert source == before
    assert len(history.view) == len(source)
    assert all(ours is theirs for ours, theirs in zip(draft.messages, source, strict=True))


def check_replacements(known: HistoryFormat, source: list[Item], chosen: list[Location]) -> list[Item]:
    """Replace some results, look at what changed, put them back; return the history as it was in between."""
    before = copy.deepcopy(source)
    history = opened(known, source)
    draft = draft_of(history)
    for at in chosen:
        draft.replace_output(at, f"{at}\n{MARKER}")
    proposal = copy.deepcopy(draft.messages)
    check_proposal(history, draft.messages, {at: f"{at}\n{MARKER}" for at in chosen})
    again = known.read(proposal)
    for index, message in enumerate(again):
        for position, block in enumerate(message["content"]):
            if (index, position) in chosen:
                assert result_text(block) == f"{(index, position)}\n{MARKER}"
                assert {**block, "output": None} == {**history.view[index]["content"][position], "output": None}
            else:
                assert block == history.view[index]["content"][position]
    assert len(set(_differences(before, proposal))) == len(chosen)
    assert {(found.rule, found.path) for found in known.violations(proposal)} == {
        (found.rule, found.path) for found in known.violations(before)
    }
    for at in chosen:
        draft.restore(at)
    assert draft.messages == source == before
    return proposal


def _differences(before: Any, after: Any, path: str = "") -> Iterator[str]:
    """Yield the paths of the fields that say what a result reads, wherever two histories differ; fail elsewhere."""
    if before == after:
        return
    assert type(before) is type(after), path
    if isinstance(before, list):
        assert len(before) == len(after), path
        for position, (ours, theirs) in enumerate(zip(before, after, strict=True)):
            yield from _differences(ours, theirs, f"{path}[{position}]")
        return
    assert isinstance(before, dict), path
    is_result = before.get("type") in {"tool_result", "function_call_output", "custom_tool_call_output"}
    texts = {"content", "output"} if is_result else set()
    if texts.isdisjoint(before) and not texts.isdisjoint(after):
        before = {**before, **dict.fromkeys(texts & set(after))}
    assert list(before) == list(after) or is_result, path
    assert before.keys() == after.keys(), path
    for key in before:
        if key in texts and before[key] != after[key]:
            yield f"{path}.{key}"
        else:
            yield from _differences(before[key], after[key], f"{path}.{key}")
