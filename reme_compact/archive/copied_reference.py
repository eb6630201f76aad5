"""References as a model copies them: with quotes, with the words around them, or with the whole line of a preview."""

import re

from reme_compact.archive.reference import Reference, parse_reference

_REFERENCE_IN_WORDS = re.compile(r"(?<![\w/.%-])archive/[0-9a-f]{32}/[0-9a-f]{64}(?![\w/%-]|\.[\w/.])")


def read_copied_reference(text: str) -> Reference:
    """Return the one reference that stands in a text.

    Raises:
        InvalidReferenceError: there is none, or more than one.

    """
    found = set(_REFERENCE_IN_WORDS.findall(text))
    return parse_reference(found.pop() if len(found) == 1 else text.strip())
