"""Content that is a text or a list of parts, as several formats write it in messages and in tool results."""

from typing import Any

from reme_compact.contract.messages import Block
from reme_compact.history.formats.protocol import HistoryFormatError


def read_content(content: Any, path: str, *, repeated: tuple[str, ...] = ()) -> list[Block]:
    """Return the blocks of a view for a content; what is no text, refusal or reasoning becomes `data`.

    Args:
        content: a text, a list of parts (texts among them count as text parts), or nothing.
        path: where it stands.
        repeated: types of parts that are left out, because what they say stands elsewhere in the message too.

    Raises:
        HistoryFormatError: it is anything else.
    """
    parts = _parts(content, path)
    return [_block(part) for part in parts if not (isinstance(part, dict) and part.get("type") in repeated)]


def read_output(content: Any, path: str) -> str | list[Block]:
    """Return the output of a view's tool result: the text itself, or the parts; no content is no text.

    Raises:
        HistoryFormatError: the content is neither a text, a list of parts, nor nothing.
    """
    if isinstance(content, str):
        return content
    return [{"type": "data"}] if content is None else [_output_block(part) for part in _parts(content, path)]


def with_text(content: Any, text: str) -> Any:
    """Return a content that reads a text: a list of parts stays one, with the fields that its parts carried.

    Such a field says, for example, up to where the provider is to cache the prompt.
    """
    if not isinstance(content, list):
        return text
    if content and all(isinstance(part, str) for part in content):
        return [text]
    fields: Block = {"type": "text"}
    for part in content:
        if isinstance(part, dict):
            fields.update(part)
    return [{**fields, "text": text}]


def is_text(content: Any) -> bool:
    """Tell whether a content is a text, or parts that are texts."""
    if isinstance(content, str):
        return True
    return isinstance(content, list) and all(_is_text_part(part) for part in content)


def _parts(content: Any, path: str) -> list[Any]:
    if content is None:
        return []
    if isinstance(content, str):
        return [content]
    if not isinstance(content, list):
        raise HistoryFormatError(path, "must be text or a list of content parts")
    for position, part in enumerate(content):
        if not isinstance(part, dict | str):
            raise HistoryFormatError(f"{path}[{position}]", "must be a content part object")
    return content


def _block(part: Block | str) -> Block:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    if _is_text_part(part):
        return part
    kind = part.get("type")
    if kind == "refusal" and isinstance(part.get("refusal"), str):
        return {"type": "text", "text": part["refusal"]}
    if kind in ("thinking", "reasoning") and isinstance(part.get(kind), str):
        return {"type": "thinking", "thinking": part[kind]}
    return {"type": "data"}


def _output_block(part: Block | str) -> Block:
    """A result is text only if all its parts are: what else one says, a refusal for instance, is not its output."""
    if isinstance(part, str):
        return {"type": "text", "text": part}
    return part if _is_text_part(part) else {"type": "data"}


def _is_text_part(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)
