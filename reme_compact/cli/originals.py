"""Originals as `reme recover` reads them: in pieces, or from an offset to the end."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from reme_compact.archive.archive import Archive
from reme_compact.archive.pieces import MOST_PIECE_CHARS, Piece, cut_piece
from reme_compact.history.text import result_text


class Original(Protocol):
    """One original, wherever it is kept."""

    def piece(self, offset: int, max_chars: int) -> Piece:
        """Read one piece.

        Raises:
            ReMeError: it cannot be read.

        """
        ...

    def rest(self, offset: int) -> Iterator[Piece]:
        """Read everything from an offset on, as pieces that join.

        Raises:
            ReMeError: it cannot be read.

        """
        ...


class KeptOriginal:
    """An original in an archive that this process opened; it is whoever can open the archive who may read it.

    Raises:
        ReferenceNotFoundError: the archive keeps nothing for the reference's session.
        ArchiveDamagedError: the session's record is damaged.

    """

    def __init__(self, archive: Archive, reference: str) -> None:
        self._archive = archive
        self._reference = reference
        self._session = archive.session_of(reference)

    def piece(self, offset: int, max_chars: int) -> Piece:
        """Read one piece; see `Archive.read`."""
        return self._archive.read(self._reference, self._session, offset, max_chars)

    def rest(self, offset: int) -> Iterator[Piece]:
        """Read the whole, held against its hash, and return it from an offset on."""
        whole = _Whole(result_text({"output": self._archive.original(self._reference, self._session)}) or "")
        start = cut_piece(whole, offset, MOST_PIECE_CHARS).offset
        yield Piece(whole.text[start:], start, None, whole.total, complete=True)


@dataclass(frozen=True, slots=True)
class _Whole:
    text: str

    @property
    def total(self) -> int:
        return len(self.text)

    def characters(self, start: int, end: int) -> str:
        return self.text[start:end]
