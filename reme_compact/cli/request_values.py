"""Build a request from assignments: whole keys, dotted keys and `request=`."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from reme_compact.cli.call_values import check_one_reader
from reme_compact.cli.printable import shorten
from reme_compact.cli.request_keys import Key, request_keys
from reme_compact.cli.source import find_source
from reme_compact.cli.usage import UsageError, sentence
from reme_compact.cli.values import read_value
from reme_compact.contract.validation import unknown_key

Request: TypeAlias = dict[str, Any]

WHOLE_REQUEST = Key(
    name="request",
    kind="object",
    description="The whole request as one JSON object; other keys replace what it says.",
)


def build_request(assignments: Mapping[str, str], *, other_keys: tuple[str, ...] = ()) -> Request:
    """Read every assignment by its key's type and put them together.

    `request=` comes first, whole keys replace what it says, and dotted keys change single entries of either.

    Args:
        assignments: keys and values as written.
        other_keys: keys that the command also knows, for suggestions.

    Raises:
        UsageError: an unknown or missing key, a value of the wrong type, or a file that cannot be read.

    """
    places = {path: _find_place(path, other_keys) for path in assignments}
    check_one_reader(assignments)
    request: Request = {}
    for path, (key, rest) in sorted(places.items(), key=lambda place: _rank(*place[1])):
        value = read_value(_shown(path), _leaf(key, rest), find_source(assignments[path]))
        if key is WHOLE_REQUEST:
            request = {**value}
        elif not rest:
            request[key.name] = value
        else:
            whole_key_says = request.get(key.name) if key.name in assignments else None
            if isinstance(whole_key_says, dict) and rest in whole_key_says:
                raise UsageError(f"{_shown(path)}: is given twice, here and in {key.name}=.")
            request[key.name] = {**_object_at(path, request, key), rest: value}
    for name, key in request_keys().items():
        if key.required and name not in request:
            raise UsageError(f"{name}: is required; give {name}=@FILE or request=@FILE.")
    return request


def _shown(path: str) -> str:
    """Show a path in a message; it may be as long as its writer likes."""
    return shorten(path, 80)


def _find_place(path: str, other_keys: tuple[str, ...]) -> tuple[Key, str]:
    """Return the key that a path belongs to, and the entry inside it that is meant."""
    head, _, rest = path.partition(".")
    keys = request_keys()
    if path == WHOLE_REQUEST.name:
        return WHOLE_REQUEST, ""
    if head not in keys:
        raise UsageError(sentence(f"{_shown(path)}: {_suggest(head, other_keys)}"))
    key = keys[head]
    if rest and key.children and rest not in key.children:
        raise UsageError(sentence(f"{_shown(path)}: {unknown_key(rest, list(key.children))}"))
    if rest and not key.children and key.item is None:
        raise UsageError(f"{_shown(path)}: {head} is a {key.type_words} and has no keys of its own.")
    return key, rest


def _suggest(name: str, other_keys: tuple[str, ...]) -> str:
    for key in request_keys().values():
        if name in key.children:
            return f"unknown key; did you mean '{key.name}.{name}'?"
    return unknown_key(name, [*request_keys(), WHOLE_REQUEST.name, *other_keys])


def _leaf(key: Key, rest: str) -> Key:
    if not rest:
        return key
    return key.children[rest] if key.children else key.item or key


def _rank(key: Key, rest: str) -> int:
    return 0 if key is WHOLE_REQUEST else 2 if rest else 1


def _object_at(path: str, request: Request, key: Key) -> dict[str, Any]:
    found = request.get(key.name)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise UsageError(f"{_shown(path)}: {key.name} in the request is not a JSON object.")
    return found
