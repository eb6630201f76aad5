"""An original, read for whoever may read it."""

import math
import re
from dataclasses import asdict, replace

from reme_compact.archive.archive import Archive
from reme_compact.archive.envelopes import not_found
from reme_compact.archive.pieces import Piece
from reme_compact.archive.reference import Session
from reme_compact.contract.errors import InvalidRequestError
from reme_compact.contract.json_bytes import json_bytes
from reme_compact.service.query import PieceQuery, query_problem

REFUSAL_SECONDS = 0.1
"""Refusals are answered only after whole multiples of this time."""

_HALVES = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def read_piece(archive: Archive, reference: str, *, owner: str | None, query: PieceQuery) -> bytes:
    """Read a piece of an original and return the answer as JSON. This blocks.

    Args:
        archive: where it is.
        reference: which.
        owner: who asks, as owner of sessions; null: an administrator, for whom all sessions open.
        query: which piece.

    Raises:
        InvalidReferenceError: it is no reference.
        ReferenceNotFoundError: there is no such original, or it is somebody else's.
        ArchiveDamagedError: it is not what was stored.
        ArchiveUnavailableError: the archive cannot be read just now.
        InvalidRequestError: the original ends before the offset.

    """
    session = _session_for(archive, reference, owner)
    try:
        piece = archive.read(reference, session, query.offset, query.max_chars)
    except InvalidRequestError as error:
        problems = [query_problem(found["path"], found["message"]) for found in error.problems]
        raise InvalidRequestError(problems) from None
    return json_bytes({"ref": reference, **asdict(_without_false_pairs(piece))})


def seconds_until_refusal(elapsed: float) -> float:
    """Return how much longer to wait before a refusal, so that its time tells nothing of what was found.

    A session of somebody else takes a little longer to be refused than one that never was.
    """
    return math.ceil(elapsed / REFUSAL_SECONDS) * REFUSAL_SECONDS - elapsed


def _session_for(archive: Archive, reference: str, owner: str | None) -> Session:
    session = archive.session_of(reference)
    if owner is not None and session.owner != owner:
        raise not_found()
    return session


def _without_false_pairs(piece: Piece) -> Piece:
    """End a piece between two lone surrogates that JSON would make one character of; the next one begins there."""
    found = _HALVES.search(piece.text)
    if found is None:
        return piece
    length = found.start() + 1
    return replace(piece, text=piece.text[:length], next_offset=piece.offset + length, complete=False)
