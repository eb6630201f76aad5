"""The text inside messages and tool results."""

from reme_compact.contract.messages import Block, Message


def result_text(result: Block) -> str | None:
    """Return the text of a tool result, its text blocks joined by line breaks; null if anything else is in it."""
    output = result.get("output")
    if isinstance(output, str):
        return output
    if not isinstance(output, list):
        return None
    texts: list[str] = []
    for item in output:
        if not isinstance(item, dict) or item.get("type") != "text" or not isinstance(item.get("text"), str):
            return None
        texts.append(item["text"])
    return "\n".join(texts)


def message_text(message: Message) -> str:
    """Return the text blocks of a message, joined by line breaks; never thinking, hints, data or tool blocks."""
    return "\n".join(
        block["text"]
        for block in message["content"]
        if block.get("type") == "text" and isinstance(block.get("text"), str) and block["text"]
    )


def has_lone_surrogate(text: str) -> bool:
    """Tell whether a text cannot be written as UTF-8, so that no decision model can be shown it."""
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def without_lone_surrogates(text: str) -> str:
    """Put U+FFFD in place of lone surrogates, for context that is only read and never handed back."""
    if not has_lone_surrogate(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
