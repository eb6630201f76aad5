"""What later calls say about an earlier result: seen again, or read anew.

These are facts about the whole history. A decision model is shown one batch at a time and could not know them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from reme_compact.history.pairs import ToolCall
from reme_compact.history.protection import Candidate
from reme_compact.history.text import result_text
from reme_compact.history.tool_input import read_tool_input, tool_input_text

_TARGET_KEYS = frozenset({"path", "file_path", "filepath", "file", "filename", "url", "uri", "target"})


@dataclass(slots=True)
class Supersession:
    """Later successful results that may stand in for one.

    Attributes:
        same_result_later: the identical text stands in a later result.
        same_input: number of later results of the same tool for the same input.
        same_target: number of later results of the same tool for the same file or address, whatever else differs.
    """

    same_result_later: bool = False
    same_input: int = 0
    same_target: int = 0


def find_supersession(candidates: Iterable[Candidate], calls: list[ToolCall]) -> dict[str, Supersession]:
    """Return, by decision id, what later calls say about each candidate of which they say anything.

    One pass from the newest call back, so the cost does not depend on how often anything repeats.
    """
    wanted = {candidate.call.id: candidate for candidate in candidates}
    tools = {candidate.tool for candidate in wanted.values()}
    found: dict[str, Supersession] = {}
    inputs: dict[tuple[str, str], int] = {}
    targets: dict[tuple[str, str], int] = {}
    texts: set[str] = set()
    for call in reversed(calls):
        tool = call.call.get("name")
        if not isinstance(tool, str) or tool not in tools:
            continue
        if call.result is None or call.result.get("state") != "success":
            continue
        candidate = wanted.get(call.id)
        text = candidate.text if candidate else result_text(call.result)
        tool_input = candidate.tool_input if candidate else read_tool_input(call.call)
        if text is None or tool_input is None:
            continue
        input_key = (tool, tool_input_text(call.call))
        target = target_of(tool_input)
        if candidate:
            same_input = inputs.get(input_key, 0)
            same_target = targets.get((tool, target), 0) if target else 0
            if same_input or same_target or text in texts:
                found[call.id] = Supersession(text in texts, same_input, same_target)
        inputs[input_key] = inputs.get(input_key, 0) + 1
        if target:
            targets[tool, target] = targets.get((tool, target), 0) + 1
        texts.add(text)
    return found


def target_of(tool_input: dict[str, Any]) -> str | None:
    """Return the file or address that a call is about, where its input names one."""
    for key, value in tool_input.items():
        if key in _TARGET_KEYS and isinstance(value, str) and value:
            return value
    return None
