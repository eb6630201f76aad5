"""Varied text of the kinds that an agent's tools return, generated from a seed."""

import json
from collections.abc import Callable
from random import Random
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["code", "log", "json", "prose"]

KINDS: tuple[Kind, ...] = ("code", "log", "json", "prose")

_SOURCE_CHARS = 400_000
_PIECE_CHARS = 1_500


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_NOUNS = _words(
    "account batch budget cache card charge client cluster column cursor customer deadline device digest endpoint "
    "event export feature filter gateway handler index invoice journal ledger limit lock message metric migration "
    "order packet page partition payment policy queue quota receipt record refund region replica request retry route "
    "schema session shard snapshot store stream tenant token topic trace transfer user vault window worker"
)
_VERBS = _words(
    "accept append archive assign attach balance cancel check close collect compare copy create decode deliver drop "
    "encode expire fetch flush group hold import join load lock merge move notify open parse publish read rebuild "
    "reject release replace reserve resolve restore retry rotate scan send settle skip sort split start stop store "
    "trim update validate verify wait write"
)
_PHRASES = (
    "which the “grace period” was meant to cover",
    "unless the caller asks again",
    "as the résumé of the incident says",
    "and nothing else depends on it",
    "before the naïve approach was given up",
    "although two teams disagree — both with reasons",
    "so the old value stays until it is confirmed",
    "if the deadline has passed",
)


class TextSource:
    """Text of one kind, long enough that random pieces of it rarely repeat."""

    def __init__(self, kind: Kind, random: Random) -> None:
        self._random = random
        line_of = _LINES[kind]
        lines: list[str] = []
        starts: list[int] = []
        size = 0
        while size < _SOURCE_CHARS:
            line = line_of(random)
            starts.append(size)
            lines.append(line)
            size += len(line) + 1
        self._text = "\n".join(lines)
        self._starts = [start for start in starts if start < len(self._text) - _PIECE_CHARS]

    def take(self, chars: int, first_line: str) -> str:
        """Return a text of exactly that many characters, which begins with a line of its own."""
        parts = [first_line, "\n"]
        missing = chars - len(first_line) - 1
        while missing > 0:
            start = self._random.choice(self._starts)
            part = self._text[start : start + min(_PIECE_CHARS, missing)]
            parts.append(part)
            missing -= len(part)
        return "".join(parts)[:chars]


def _code_line(random: Random) -> str:
    noun, verb = random.choice(_NOUNS), random.choice(_VERBS)
    other = random.choice(_NOUNS)
    match random.randrange(7):
        case 0:
            return f"def {verb}_{noun}({other}: {other.title()}, limit: int = {random.randrange(1000)}) -> None:"
        case 1:
            return f"    if {noun}.{other}_count > {random.randrange(500)} and not {noun}.is_{verb}ed:"
        case 2:
            return f'        raise {noun.title()}Error(f"cannot {verb} {{{other}.id}}")'
        case 3:
            return f"    {noun}_{other} = self._{verb}({noun}, timeout={random.random() * 30:.2f})"
        case 4:
            return f"    # {verb} the {noun} first: {other} {random.randrange(100)} relies on it"
        case 5:
            return f'        return [{noun} for {noun} in {other}s if {noun}.state == "{verb}"]'
        case _:
            return ""


def _log_line(random: Random) -> str:
    level = random.choice(("DEBUG", "INFO ", "INFO ", "INFO ", "WARN ", "ERROR"))
    clock = f"{random.randrange(24):02d}:{random.randrange(60):02d}:{random.randrange(60):02d}"
    return (
        f"2026-11-{random.randrange(1, 31):02d}T{clock}.{random.randrange(1000):03d}Z {level} "
        f"{random.choice(_NOUNS)}-{random.choice(_NOUNS)}[{random.randrange(30000)}] "
        f"request={random.getrandbits(64):016x} could not {random.choice(_VERBS)} {random.choice(_NOUNS)}: "
        f"attempt={random.randrange(9)} took_ms={random.randrange(20000)}"
    )


def _json_line(random: Random) -> str:
    return json.dumps(
        {
            "id": f"{random.choice(_NOUNS)}_{random.getrandbits(48):012x}",
            "status": random.choice(_VERBS),
            random.choice(_NOUNS): {"amount": random.randrange(10**6), "rate": round(random.random(), 4)},
            random.choice(_NOUNS): [random.choice(_NOUNS) for _ in range(random.randrange(4))],
            "ok": random.random() < 0.8,
        }
    )


def _prose_line(random: Random) -> str:
    return " ".join(_sentence(random) for _ in range(random.randrange(1, 4)))


def _sentence(random: Random) -> str:
    return (
        f"The {random.choice(_NOUNS)} has to {random.choice(_VERBS)} every {random.choice(_NOUNS)} of the "
        f"{random.choice(_NOUNS)}, {random.choice(_PHRASES)}."
    )


_LINES: dict[Kind, Callable[[Random], str]] = {
    "code": _code_line,
    "log": _log_line,
    "json": _json_line,
    "prose": _prose_line,
}
