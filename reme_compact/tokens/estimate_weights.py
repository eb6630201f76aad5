"""The classes of bytes and the weight of each pair of neighbouring classes, for the token estimate."""

import string

SCALE = 64
"""Weights are in 64ths of a token."""

NAMES = (
    "space",
    "break",
    "lower",
    "upper",
    "digit",
    "punctuation",
    "bracket",
    "quote",
    "other",
    "continuation",
    "lead_latin",
    "lead_cyrillic",
    "lead_two",
    "lead_cjk",
    "lead_three",
    "lead_four",
)
SPACE, BREAK, LOWER, UPPER, DIGIT, PUNCTUATION, BRACKET, QUOTE, OTHER, CONTINUATION = range(10)
LEAD_LATIN, LEAD_CYRILLIC, LEAD_TWO, LEAD_CJK, LEAD_THREE, LEAD_FOUR = range(10, 16)


def _class_of(byte: int) -> int:  # noqa: C901, PLR0911, PLR0912 - one flat table
    character = chr(byte)
    if character == " ":
        return SPACE
    if character in "\n\r\t":
        return BREAK
    if character in string.ascii_lowercase:
        return LOWER
    if character in string.ascii_uppercase:
        return UPPER
    if character in string.digits:
        return DIGIT
    if character in "()[]{}<>":
        return BRACKET
    if character in "\"'`":
        return QUOTE
    if character in string.punctuation:
        return PUNCTUATION
    if byte < 0x80:
        return OTHER
    if byte < 0xC0:
        return CONTINUATION
    if byte < 0xC6:
        return LEAD_LATIN
    if byte in (0xD0, 0xD1, 0xD2, 0xD3):
        return LEAD_CYRILLIC
    if byte < 0xE0:
        return LEAD_TWO
    if 0xE3 <= byte <= 0xED:
        return LEAD_CJK
    if byte < 0xF0:
        return LEAD_THREE
    return LEAD_FOUR


CLASS_OF_BYTE = bytes(_class_of(byte) for byte in range(256))


def _weights() -> list[int]:
    table = [[SCALE] * 16 for _ in range(16)]
    for previous in range(16):
        row = table[previous]
        row[SPACE] = 2 if previous == SPACE else 6
        row[BREAK] = 16 if previous == BREAK else 32
        row[LOWER] = 52
        row[UPPER] = 52
        row[DIGIT] = 52
        row[PUNCTUATION] = row[BRACKET] = row[QUOTE] = 52
        row[CONTINUATION] = 0
        row[LEAD_LATIN] = 52
        row[LEAD_CYRILLIC] = 26
        row[LEAD_TWO] = 56
        row[LEAD_CJK] = 60
        row[LEAD_THREE] = 72
        row[LEAD_FOUR] = 160
    table[LOWER][LOWER] = 6
    table[UPPER][LOWER] = 12
    table[UPPER][UPPER] = 26
    table[DIGIT][DIGIT] = 22
    table[PUNCTUATION][PUNCTUATION] = 24
    table[SPACE][LOWER] = table[SPACE][UPPER] = 50
    return [weight for row in table for weight in row]


WEIGHTS = _weights()
"""Weight of the second class of a pair, at index 16 * first + second."""
