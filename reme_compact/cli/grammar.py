r"""The grammar of arguments: `key=value`, and how a value says where it comes from.

key=value        the value itself
--key=value      the same
a.b=value        one key inside an object
key=@path        the content of a file
key=-            standard input
key=@@value      the text "@value"
key=\-           the text "-" (and \\- is the text "\-")
"""

from collections.abc import Collection, Iterable

from reme_compact.cli.usage import UsageError


def read_words(words: Iterable[str], known_keys: Collection[str] | None = None) -> dict[str, str]:
    """Split arguments into keys and values as written, in order.

    Args:
        words: the arguments.
        known_keys: keys that the command knows, for suggestions. Unknown ones are read too; null: any may be known.

    Raises:
        UsageError: a word is not `key=value`, is not UTF-8, or gives a key a second time.

    """
    assignments: dict[str, str] = {}
    for word in words:
        key, value = _split(word, known_keys)
        if key in assignments:
            raise UsageError(f"{_shown_key(key)}: is given twice.")
        assignments[key] = value
    return assignments


def _split(word: str, known_keys: Collection[str] | None) -> tuple[str, str]:
    if any("\ud800" <= character <= "\udfff" for character in word):
        raise UsageError(f"{_shown_key(word)}: the value is not valid UTF-8.")
    key, equals, value = word.removeprefix("--").partition("=")
    if not equals:
        from reme_compact.cli.suggestions import meant_by_bare_word  # noqa: PLC0415 - only for a mistake

        raise UsageError(meant_by_bare_word(word, known_keys))
    if not key or any(not part for part in key.split(".", 1)):
        raise UsageError(f"'{_shown_key(word)}=...': the key is missing; write KEY=VALUE.")
    return key, value


def _shown_key(word: str) -> str:
    """Show the key of a word, never its value: a value can be long and private."""
    key = word.removeprefix("--").partition("=")[0]
    return "".join(character if character.isprintable() else "?" for character in key[:60])
