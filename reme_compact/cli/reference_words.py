"""The arguments of commands about originals: a reference, as a word of its own or as `ref=`, and keys."""

from collections.abc import Collection, Sequence

from reme_compact.archive.copied_reference import read_copied_reference
from reme_compact.archive.reference import parse_reference
from reme_compact.cli.call_values import call_values
from reme_compact.cli.grammar import read_words
from reme_compact.cli.printable import shorten
from reme_compact.cli.usage import UsageError, sentence
from reme_compact.contract.errors import InvalidReferenceError
from reme_compact.contract.validation import unknown_key

REFERENCE_KEY = "ref"
_LITERAL = ("archive", "all", "dry_run")


def read_reference_words(words: Sequence[str], known_keys: Collection[str]) -> dict[str, str]:
    """Return the keys with their values; empty ones count as absent.

    Raises:
        UsageError: a key is unknown or given twice, or its value cannot be read.

    """
    keys = list(known_keys)
    as_pairs = [f"{REFERENCE_KEY}={word}" if _is_meant_as_reference(word) else word for word in words]
    given = read_words(as_pairs, keys)
    for key in given:
        if key not in keys:
            raise UsageError(sentence(f"{shorten(key, 80)}: {unknown_key(key, keys)}"))
    return {key: value for key, value in call_values(given, _LITERAL).items() if value}


def reference_of(given: dict[str, str]) -> str:
    """Return the reference, which has to be there; the line of a preview in which it stands serves as well.

    Raises:
        UsageError: it is missing, or is none.

    """
    if REFERENCE_KEY not in given:
        raise UsageError("ref: which original? Its reference stands in the last line of a preview.")
    try:
        return str(read_copied_reference(given[REFERENCE_KEY]))
    except InvalidReferenceError as error:
        raise UsageError(
            f"ref: {error.message} A reference that a host made itself is read back from that host."
        ) from None


def is_reference(text: str) -> bool:
    """Tell whether a text is a reference into an archive, and nothing else."""
    try:
        parse_reference(text)
    except InvalidReferenceError:
        return False
    return True


def truth_of(given: dict[str, str], key: str) -> bool:
    """Return what a key says that is true or false; it is false if it is absent.

    Raises:
        UsageError: it is neither.

    """
    if key not in given:
        return False
    from reme_compact.cli.request_keys import Key  # noqa: PLC0415 - a call is mostly start-up
    from reme_compact.cli.values import convert  # noqa: PLC0415 - a call is mostly start-up

    return bool(convert(key, Key(name=key, kind="boolean"), given[key]))


def _is_meant_as_reference(word: str) -> bool:
    return "=" not in word and not word.startswith("-") and "archive/" in word
