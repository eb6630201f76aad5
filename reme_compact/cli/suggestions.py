"""What a word on the command line was probably meant to be: a forgotten `@`, a forgotten key, a flag."""

import difflib
import re
from collections.abc import Collection
from pathlib import Path

from reme_compact.cli.printable import shorten
from reme_compact.cli.source import Source
from reme_compact.contract.errors import InvalidJSONError
from reme_compact.contract.strict_json import parse_json

_LONGEST_NAME = 300
_PATH = re.compile(r"""[^\s\[\]{}"',:]+/[^\s\[\]{}"']*|[^\s\[\]{}"',:/]+\.(json|jsonl|txt|md|ya?ml)""", re.IGNORECASE)
_PRESET_SUFFIXES = (".yaml", ".yml")


def looks_like_file(text: str) -> bool:
    """Tell whether a text is the name of a file, or at least looks like one."""
    if not text or len(text) > _LONGEST_NAME or not text.isprintable():
        return False
    return bool(_PATH.fullmatch(text)) or _is_file(text)


def meant_by_file(name: str) -> str:
    """Return the assignment that a file alone was probably meant to be."""
    if name.lower().endswith(_PRESET_SUFFIXES):
        return f"config={_shown(name)}"
    return f"{'messages' if _starts_a_list(name) else 'request'}=@{_shown(name)}"


def meant_by_value(path: str, source: Source, text: str) -> str | None:
    """Return the assignment that was meant by a value of the wrong type, with the reason; null if there is no telling.

    Args:
        path: the key as written.
        source: where the value comes from.
        text: the value's text, which is not of the key's type.

    """
    if source.kind == "literal" and looks_like_file(text.strip()):
        return f"did you mean {path}=@{_shown(text.strip())}?"
    try:
        value = parse_json(text)
    except InvalidJSONError:
        return None
    if path == "request" and isinstance(value, list):
        other, kind = "messages", "a list"
    elif path == "messages" and isinstance(value, dict) and "messages" in value:
        other, kind = "request", "an object"
    else:
        return None
    where = {"file": "the file holds", "standard_input": "standard input holds", "literal": "this is"}[source.kind]
    written = {"file": f"@{_shown(source.text)}", "standard_input": "-", "literal": "'...'"}[source.kind]
    return f"{where} {kind}; did you mean {other}={written}?"


def meant_by_bare_word(word: str, known_keys: Collection[str] | None) -> str:
    """Say what to write instead of a word that is not `key=value`.

    Args:
        word: the word.
        known_keys: keys that the command knows; null: any may be one.

    """
    name = word.removeprefix("--")
    head = name.partition(".")[0]
    shown = _shown(word)
    if word == "-":
        return "'-': standard input needs a key; did you mean request=-?"
    if name and not name.startswith("-") and (head in known_keys if known_keys is not None else name.isidentifier()):
        return f"'{shown}': a value is missing; write {_shown(name)}=VALUE."
    if looks_like_file(word.removeprefix("@")):
        return f"'{shown}': a key is missing; did you mean {meant_by_file(word.removeprefix('@'))}?"
    close = difflib.get_close_matches(head.lower(), known_keys or (), n=1)
    if word.startswith("-"):
        hint = f"did you mean {close[0]}=VALUE?" if close else "all keys are written KEY=VALUE."
        return f"there is no flag '{shown}'; {hint}"
    if known_keys is not None and "config" in known_keys and _is_preset(word):
        return f"'{shown}': a key is missing; did you mean config={shown}?"
    if close:
        return f"'{shown}': unknown key; did you mean {close[0]}=VALUE?"
    return f"'{shown}': a key is missing; write KEY=VALUE, and put a value with spaces in quotes."


def _shown(name: str) -> str:
    return shorten(name, 60)


def _is_file(name: str) -> bool:
    try:
        return Path(name).expanduser().is_file()
    except (OSError, ValueError, RuntimeError):
        return False


def _starts_a_list(name: str) -> bool:
    try:
        with Path(name).expanduser().open(encoding="utf-8-sig") as file:
            return file.read(1000).lstrip().startswith("[")
    except (OSError, ValueError, RuntimeError):
        return False


def _is_preset(word: str) -> bool:
    from reme_compact.presets.locate import packaged_presets  # noqa: PLC0415 - only for a mistake

    return word in packaged_presets()
