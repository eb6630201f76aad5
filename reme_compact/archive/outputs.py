"""Tool outputs as one text and, where they are content blocks, what is needed to put the blocks together again."""

import json
from collections.abc import Sequence
from typing import Any

from reme_compact.archive.sealed import compact_json
from reme_compact.contract.errors import ArchiveDamagedError, InvalidRequestError
from reme_compact.history.preview import is_preview
from reme_compact.history.text import result_text

Output = str | list[dict[str, Any]]
"""The output of a tool result: text, or a list of text blocks."""

_BETWEEN_BLOCKS = 1
"""Characters between the texts of two blocks: `result_text` joins them by a line break."""


def take_apart(output: Output) -> tuple[str, list[dict[str, Any]] | None]:
    """Return the text, and for content blocks the blocks with each text replaced by its place `[start, end]` in it.

    Raises:
        InvalidRequestError: the output is not only text, not JSON, or a preview that stands for an original.

    """
    text = result_text({"output": output})
    if text is None:
        raise _not_storable("must be text or a list of text blocks")
    if is_preview(text):
        raise _not_storable("is a preview, and what it stands for is kept already")
    if isinstance(output, str):
        return text, None
    blocks: list[dict[str, Any]] = []
    start = 0
    for block in output:
        end = start + len(block["text"])
        blocks.append({**block, "text": [start, end]})
        start = end + _BETWEEN_BLOCKS
    if not _survives(blocks):
        raise _not_storable("holds blocks that cannot be written as JSON and read back unchanged")
    return text, blocks


def put_together(text: str, blocks: Sequence[dict[str, Any]] | None) -> Output:
    """Return the output that was taken apart.

    Raises:
        ArchiveDamagedError: the blocks do not belong to this text.

    """
    if blocks is None:
        return text
    output: list[dict[str, Any]] = []
    for block in blocks:
        place = _place(block)
        if place is None:
            raise _foreign_blocks()
        output.append({**block, "text": text[place[0] : place[1]]})
    if result_text({"output": output}) != text:
        raise _foreign_blocks()
    return output


def _place(block: Any) -> tuple[int, int] | None:
    place = block.get("text") if isinstance(block, dict) else None
    if isinstance(place, list) and len(place) == 2 and all(type(edge) is int for edge in place):
        return place[0], place[1]
    return None


def _survives(blocks: list[dict[str, Any]]) -> bool:
    try:
        written = compact_json(blocks)
        return bool(json.loads(written.decode("utf-8", "surrogatepass")) == blocks)
    except (ValueError, TypeError, RecursionError):
        return False


def _not_storable(message: str) -> InvalidRequestError:
    return InvalidRequestError([{"path": "output", "message": message}])


def _foreign_blocks() -> ArchiveDamagedError:
    return ArchiveDamagedError("An envelope in the archive describes content blocks that its text does not have.")
