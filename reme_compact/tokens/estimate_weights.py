"""The classes of bytes and the weight of each pair of neighbouring classes, for the token estimate.

The weights minimise the mean overestimate of OpenAI's o200k_base count (a linear program, with the count itself as the
lower bound of every sample) over some 2,500 samples of 800 to 3,000 characters: prose in 20 languages, source code,
JSON, logs, agent histories, numbers, hexadecimal, UUIDs, base64, emoji, white space and random characters.
"""

import string

SCALE = 100
"""Weights are in hundredths of a token."""

SHORTENED_RUNS = ((b" " * 8, b"  "), (b"\n" * 4, b"\n"), (b"\t" * 4, b"\t"))
"""Long runs of white space and their stand-ins: tokenizers take a run whole, and pairs cannot see where it ends."""

CLASSES = (
    "space",
    "break",  # line breaks and tabs
    "vowel",
    "consonant",
    "upper",
    "digit",
    "joint",  # punctuation that joins names and numbers, or comes in rows
    "punctuation",
    "control",
    "continuation",  # any byte of a multi-byte character but its first
    "lead_latin",  # first bytes, by what they usually begin
    "lead_cyrillic",
    "lead_two",
    "lead_cjk",
    "lead_three",
    "lead_four",
)

_OF_CHARACTERS = {
    " ": "space",
    "\n\r\t": "break",
    "aeiouy": "vowel",
    string.ascii_uppercase: "upper",
    string.digits: "digit",
    "._-/=*#": "joint",
}

_OF_RANGES = {
    range(0x80, 0xC0): "continuation",
    range(0xC0, 0xC6): "lead_latin",
    range(0xD0, 0xD4): "lead_cyrillic",
    range(0xC6, 0xE0): "lead_two",
    range(0xE3, 0xEE): "lead_cjk",
    range(0xE0, 0xF0): "lead_three",
    range(0xF0, 0x100): "lead_four",
}


def _class_of(byte: int) -> int:
    character = chr(byte)
    for characters, name in _OF_CHARACTERS.items():
        if character in characters:
            return CLASSES.index(name)
    if character in string.ascii_lowercase:
        return CLASSES.index("consonant")
    if character in string.punctuation:
        return CLASSES.index("punctuation")
    for bytes_of_class, name in _OF_RANGES.items():
        if byte in bytes_of_class:
            return CLASSES.index(name)
    return CLASSES.index("control")


CLASS_OF_BYTE = bytes(_class_of(byte) for byte in range(256))
"""For `bytes.translate`: the class of each byte, 0..15."""

_AFTER = (
    (7, 80, 40, 77, 1, 240, 66, 69, 80, 15, 80, 80, 255, 60, 1, 97),  # after space
    (1, 36, 71, 1, 36, 80, 1, 36, 80, 15, 80, 115, 1, 80, 80, 80),  # after break
    (1, 255, 107, 10, 80, 80, 78, 1, 80, 15, 80, 80, 80, 80, 80, 80),  # after vowel
    (14, 40, 1, 18, 100, 212, 80, 79, 134, 15, 80, 80, 80, 80, 80, 80),  # after consonant
    (1, 145, 21, 42, 34, 126, 44, 172, 80, 15, 80, 80, 80, 80, 80, 80),  # after upper
    (16, 247, 44, 96, 168, 19, 88, 38, 80, 15, 80, 80, 80, 80, 80, 80),  # after digit
    (94, 1, 9, 67, 33, 80, 1, 95, 80, 15, 80, 80, 80, 1, 80, 80),  # after joint
    (1, 98, 178, 38, 87, 187, 96, 58, 80, 15, 80, 80, 80, 80, 80, 80),  # after punctuation
    (10, 40, 80, 80, 80, 1, 80, 1, 80, 15, 80, 80, 80, 80, 80, 80),  # after control
    (1, 255, 1, 80, 80, 80, 80, 80, 80, 1, 255, 14, 1, 85, 114, 80),  # after continuation
    (10, 40, 80, 80, 80, 80, 80, 80, 80, 255, 80, 80, 80, 80, 80, 80),  # after lead latin
    (10, 40, 80, 80, 80, 80, 80, 80, 80, 15, 80, 80, 80, 80, 80, 80),  # after lead cyrillic
    (10, 40, 80, 80, 80, 80, 80, 80, 80, 5, 80, 80, 80, 80, 80, 80),  # after lead two
    (10, 40, 80, 80, 80, 80, 80, 80, 80, 1, 80, 80, 80, 80, 80, 80),  # after lead cjk
    (10, 40, 80, 80, 80, 80, 80, 80, 80, 1, 80, 80, 80, 80, 80, 80),  # after lead three
    (10, 40, 80, 80, 80, 80, 80, 80, 80, 147, 80, 80, 80, 80, 80, 80),  # after lead four
)

WEIGHTS = tuple(weight for row in _AFTER for weight in row)
"""Weight of the second class of a pair, at index 16 * first + second."""
