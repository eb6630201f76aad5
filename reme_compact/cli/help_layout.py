"""How help is laid out: keys with their meanings, as wide as the terminal, and the exit codes."""

import shutil
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from reme_compact.cli.exit_codes import MEANINGS

if TYPE_CHECKING:
    from reme_compact.cli.request_keys import Key


def exit_codes() -> str:
    """Return what every exit code says."""
    return pairs({str(int(code)): meaning for code, meaning in MEANINGS.items()})


def pairs(meanings: Mapping[str, str]) -> str:
    """Return names and meanings in two columns."""
    width = max(map(len, meanings))
    return "\n".join(
        textwrap.fill(
            f"{key:<{width}}  {meaning}",
            width=_width(),
            initial_indent="  ",
            subsequent_indent=" " * (width + 4),
            break_on_hyphens=False,
        )
        for key, meaning in meanings.items()
    )


def described(keys: "Iterable[Key]", prefix: str = "") -> Iterator[str]:
    """Yield keys with types, defaults and meanings, and below them their own keys."""
    for key in keys:
        yield f"  {prefix}{key.name}  ({', '.join(_facts(key))})"
        if key.description:
            yield textwrap.fill(
                key.description,
                width=_width(),
                initial_indent="      ",
                subsequent_indent="      ",
                break_on_hyphens=False,
            )
        yield from described(key.children.values(), f"{prefix}{key.name}.")


def _facts(key: "Key") -> Sequence[str]:
    if key.required:
        return key.type_words, "required"
    if key.children:
        return (key.type_words,)
    if key.default in (None, [], {}):
        return key.type_words, "default: null" if key.nullable else "default: none"
    return key.type_words, f"default: {key.default:g}" if isinstance(key.default, float) else f"default: {key.default}"


def _width() -> int:
    return min(max(shutil.get_terminal_size((100, 24)).columns, 40), 112)
