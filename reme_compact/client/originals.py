"""An original that a running service reads back, in pieces or whole."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any
from urllib.parse import urlencode

from reme_compact.archive.pieces import MOST_PIECE_CHARS, Piece
from reme_compact.archive.reference import original_bytes, parse_reference
from reme_compact.client.answers import Answer
from reme_compact.client.calls import Call, Conversation
from reme_compact.client.sent import json_sent
from reme_compact.contract.errors import ArchiveDamagedError


def read_piece(reference: str, offset: int, max_chars: int) -> Conversation[Piece]:
    """Read one piece, or less if it can only be told in less.

    JSON cannot tell two lone surrogates in a row from the character that they would make as a pair. Such a piece is
    shorter than it says, and is asked for again in smaller ones until the two are apart.

    Raises:
        InvalidReferenceError: the reference is none; nothing is asked.
        ServiceUnreachableError: what answers is no piece of this original.

    """
    parse_reference(reference)
    while True:
        query = urlencode({"offset": offset, "max_chars": max_chars})
        answer = yield Call(json_sent("GET", f"/{reference}?{query}"))
        piece = piece_of(answer, reference, offset)
        if len(piece.text) == _length(piece):
            return piece
        if max_chars == 1:
            raise answer.unlike_a_service("text: is not as long as the piece")
        max_chars //= 2


def read_original(reference: str) -> Conversation[str]:
    """Read everything, and hold it against the hash in the reference.

    Raises:
        ArchiveDamagedError: what was read is something else.
        ReMeError: as for `read_piece`.

    """
    pieces: list[Piece] = []
    next_offset: int | None = 0
    size = MOST_PIECE_CHARS
    while next_offset is not None:
        piece = yield from read_piece(reference, next_offset, size)
        pieces.append(piece)
        next_offset, size = piece.next_offset, next_size(piece)
    if not are_original(pieces, reference):
        raise ArchiveDamagedError("What was read is not the original that the reference names, so it is not returned.")
    return "".join(piece.text for piece in pieces)


def next_size(piece: Piece) -> int:
    """Return how much to ask for after a piece: where surrogates stand in a row there are often more of them."""
    return min(MOST_PIECE_CHARS, 2 * max(1, len(piece.text)))


def are_original(pieces: Sequence[Piece], reference: str) -> bool:
    """Tell whether pieces, from the first character to the last, are what a reference names."""
    digest = sha256()
    for piece in pieces:
        digest.update(original_bytes(piece.text))
    return digest.hexdigest() == parse_reference(reference).sha256


def piece_of(answer: Answer, reference: str, asked_offset: int) -> Piece:
    """Return the piece that a service answered; its text may be too short.

    Further fields are let through: a newer service may have more to say.

    Raises:
        ServiceUnreachableError: it is none, or not the one that was asked for, so whoever answered is no service.

    """
    value = answer.value
    if not isinstance(value, dict):
        raise answer.unlike_a_service("no piece of an original")
    text, complete = value.get("text"), value.get("complete")
    offset, total = _whole(value, "offset"), _whole(value, "total_chars")
    next_offset = None if complete is True and value.get("next_offset") is None else _whole(value, "next_offset")
    if not isinstance(text, str) or not isinstance(complete, bool) or value.get("ref") != reference:
        raise answer.unlike_a_service("no piece of this original")
    piece = Piece(text, offset, next_offset, total, complete)
    end = total if next_offset is None else next_offset
    goes_on = end > asked_offset or asked_offset == total
    if complete != (next_offset is None) or not 0 <= offset <= asked_offset <= end <= total or not goes_on:
        raise answer.unlike_a_service("a piece of an original at another place")
    if len(text) > end - offset:
        raise answer.unlike_a_service("text: is longer than the piece")
    return piece


def _whole(value: Mapping[str, Any], name: str) -> int:
    number = value.get(name)
    return number if type(number) is int else -1


def _length(piece: Piece) -> int:
    return (piece.total_chars if piece.next_offset is None else piece.next_offset) - piece.offset
