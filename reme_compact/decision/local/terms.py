"""Split text into comparable words, and find the identifiers in it: paths, ids, dotted and joined names."""

import re
from functools import lru_cache
from itertools import chain

MAX_CHARACTERS = 50_000
"""Longest text that is read whole; of a longer one, this much is read, half from each end."""

_SHORTEST_IDENTIFIER = 3
_LONGEST_RUN = 200
_LONGEST_WORD = 64

_LETTERS = {code: chr(code) if chr(code).isalpha() else " " for code in range(128)}
_NAME_CHARACTERS = {code: chr(code) if chr(code).isalnum() or chr(code) in "_-" else " " for code in range(128)}
_NOT_ASCII = re.compile("[^\x00-\x7f]+")
_WORD = re.compile(r"[^\W\d_]+")
_CAMEL_EDGE = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# Chinese, Japanese and Thai put no spaces between words, Korean attaches particles to them.
_UNSPACED = re.compile("[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]+")
_RUN = re.compile(r"[\w./@-]+")
_PARTS = re.compile(r"[/@]+")
_HAS_DIGIT = re.compile(r"\d")
_JOINED = re.compile(r"\w[._/@-]+\w|[a-z][A-Z]")

# Function words only: which words of a subject matter is for the request itself to tell, by their rarity in it.
_FUNCTION_WORDS = """
    a about after again all also an and any are as at back be because been before being both but by can cannot
    could did do does doing done down each either else etc ever every for from further get had has have having he
    her here him his how however if in into is it its itself just let like me more most much must my near neither
    no nor not now of off on once one only onto or other our out over own per please same shall she should since
    so some such than that the their them then there these they this those through to too under until up upon us
    very via was we were what when where whether which while who whom whose why will with within without would yet
    you your
"""
STOP_WORDS = frozenset(_FUNCTION_WORDS.split())


def readable(text: str) -> str:
    """Return the text, or both ends of it when it is longer than `MAX_CHARACTERS`."""
    if len(text) <= MAX_CHARACTERS:
        return text
    half = MAX_CHARACTERS // 2
    return f"{text[:half]}\n{text[-half:]}"


def words(text: str) -> set[str]:
    """Return the distinct words of a text, comparable by equality.

    Lower case, without inflection; `camelCase`, `snake_case` and paths fall apart into their words; runs of a
    script that puts no spaces between words give pairs of neighbouring characters. Function words are left out.
    """
    if not _has_foreign_letters(text):
        return _split_words(set(_as_ascii(text).translate(_LETTERS).split()))
    unspaced = set(_UNSPACED.findall(text))
    spaced = _UNSPACED.sub(" ", text) if unspaced else text
    result = _split_words(set(_WORD.findall(spaced)))
    for run in unspaced:
        result.update(run[start : start + 2] for start in range(max(1, len(run) - 1)))
    return result


def _split_words(runs: set[str]) -> set[str]:
    return set(chain.from_iterable(map(_word_parts, (run for run in runs if len(run) <= _LONGEST_WORD))))


def _has_foreign_letters(text: str) -> bool:
    """Tell whether there are letters outside ASCII; logs in English often hold arrows and box lines only."""
    return not text.isascii() and any(character.isalpha() for run in set(_NOT_ASCII.findall(text)) for character in run)


def _as_ascii(text: str) -> str:
    """Put a question mark in place of every character outside ASCII: translating is much faster then."""
    return text if text.isascii() else text.encode("ascii", "replace").decode("ascii")


@lru_cache(maxsize=32_768)
def _word_parts(word: str) -> tuple[str, ...]:
    """Return what a run of letters counts as: its parts, without inflection, without function words."""
    parts = [word] if word.islower() else _CAMEL_EDGE.split(word)
    return tuple(_stem(part) for part in map(str.lower, parts) if len(part) > 1 and part not in STOP_WORDS)


def _stem(word: str) -> str:
    """Take off what English inflection adds, so that `retries`, `retried` and `Retry` are one word."""
    if len(word) < 5 or not word.isascii():
        return word
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)] + instead
            break
    return word[:-1] if len(word) > 4 and word.endswith("e") else word


_ENDINGS = (
    ("sses", "ss"),
    ("ies", "y"),
    ("ied", "y"),
    ("ss", "ss"),
    ("us", "us"),
    ("is", "is"),
    ("ings", ""),
    ("ing", ""),
    ("ed", ""),
    ("s", ""),
)


def identifiers(text: str) -> list[str]:
    """Return what looks like a name given by a machine or a programmer, in order, lower case, each once.

    Paths (also their last part), UUIDs, hashes, numbers and ids of three or more characters with a digit, dotted,
    hyphenated, `snake_case` and `camelCase` names (also the parts of a dotted name that are identifiers).
    """
    runs = (run for run in dict.fromkeys(_RUN.findall(text)) if len(run) <= _LONGEST_RUN)
    return list(dict.fromkeys(chain.from_iterable(map(_identifiers_of, runs))))


@lru_cache(maxsize=32_768)
def _identifiers_of(run: str) -> tuple[str, ...]:
    """Return the identifiers among a run, its last path part and the names between that part's dots."""
    run = run.strip("./@-")
    last = _PARTS.split(run)[-1]
    parts = [run] if last == run else [run, last]
    if "." in last:
        parts += last.split(".")
    return tuple(part.lower() for part in parts if len(part) >= _SHORTEST_IDENTIFIER and _is_identifier(part))


def names(text: str) -> set[str]:
    """Return the distinct runs of letters, digits, underscores and hyphens of a lower-case text."""
    return set(_as_ascii(text).translate(_NAME_CHARACTERS).split())


def _is_identifier(part: str) -> bool:
    return _HAS_DIGIT.search(part) is not None or _JOINED.search(part) is not None


def contains(text: str, identifier: str) -> bool:
    """Tell whether a lower-case identifier stands in a lower-case text, not as a part of a longer word."""
    # A hit that overlaps this one can only count where it begins behind a character that is no part of a word.
    step = next(
        (at + 1 for at, character in enumerate(identifier) if not _continues_a_word(character)), len(identifier)
    )
    start = text.find(identifier)
    while start >= 0:
        end = start + len(identifier)
        begins = start == 0 or not _continues_a_word(text[start - 1])
        if begins and (end == len(text) or not _continues_a_word(text[end])):
            return True
        start = text.find(identifier, start + max(1, step))
    return False


def _continues_a_word(character: str) -> bool:
    return character.isalnum() or character == "_"
