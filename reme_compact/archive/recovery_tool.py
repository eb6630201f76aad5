"""The recovery tool: with it an agent reads back what a preview stands for. A plain callable for any framework."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from reme_compact.archive.archive import Archive
from reme_compact.archive.copied_reference import read_copied_reference
from reme_compact.archive.pieces import DEFAULT_PIECE_CHARS, Piece
from reme_compact.archive.recovery_input import RecoveryInput, read_recovery_input, recovery_parameters
from reme_compact.archive.reference import Session, as_session
from reme_compact.contract.errors import InvalidRequestError, ReMeError
from reme_compact.history.recovery import RECOVERY_TOOL
from reme_compact.history.text import result_text

PATTERN_SECONDS = 10.0
"""Time for looking for one pattern in one original."""

_DESCRIPTION = (
    "Read back the original of a tool output that was shortened. A shortened output ends in the line "
    "`[Compacted output. Recover from: REF]`; call this with that REF. You get the original piece by piece, verbatim; "
    "if there is more, a last line says with which offset to go on. With grep you get only the lines in which a "
    "regular expression is found, each after its offset, which is the quickest way to something you know a word of."
)
_SEARCHED_AT_ONCE = 64 * 1024


class RecoveryTool:
    """Reads originals of one session, and of no other. It blocks; it may be called from many threads at once.

    Args:
        archive: where the originals are.
        session: whose they are; a text is the name of a session that nobody owns.

    Attributes:
        name: what the tool is called.
        description: what it does, for a model.
        parameters: JSON schema of its input.

    Raises:
        InvalidRequestError: the session is blank.

    """

    def __init__(self, archive: Archive, session: str | Session) -> None:
        self._archive = archive
        self._session = as_session(session)
        self.name = RECOVERY_TOOL
        self.description = _DESCRIPTION
        self.parameters = recovery_parameters()

    def __call__(self, ref: str, offset: int = 0, max_chars: int = DEFAULT_PIECE_CHARS, grep: str | None = None) -> str:
        """Return a piece of an original, or its lines that match; then, if there is more, a line that says so.

        Args:
            ref: the reference; also in quotes, or with the line of the preview in which it stands.
            offset: where to begin, in characters.
            max_chars: most characters of the piece, or of the lines, 1 to 16,384.
            grep: only the lines in which this regular expression is found; empty: all of the text.

        Raises:
            InvalidRequestError: an argument is wrong.
            InvalidReferenceError: it is no reference.
            ReferenceNotFoundError: this session keeps no such original.
            ArchiveDamagedError: what is kept is not what was stored.
            ArchiveUnavailableError: the archive cannot be read just now.

        """
        return self.recover({"ref": ref, "offset": offset, "max_chars": max_chars, "grep": grep})

    def recover(self, arguments: Mapping[Any, Any] | str) -> str:
        """Do the same with the arguments of a model's call, as an object or its JSON; raises as a call does."""
        given = read_recovery_input(arguments)
        reference = str(read_copied_reference(given.ref))
        if given.grep:
            return self._lines(reference, given, given.grep)
        return _with_last_line(self._archive.read(reference, self._session, given.offset, given.max_chars))

    def answer(self, arguments: Mapping[Any, Any] | str) -> str:
        """Do the same, but return what went wrong, so that the model can mend it: the four fields as JSON."""
        try:
            return self.recover(arguments)
        except ReMeError as error:
            return failure_text(error)

    def _lines(self, reference: str, given: RecoveryInput, pattern: str) -> str:
        from reme_compact.archive.line_answer import answer_with_lines  # noqa: PLC0415 - loads a large pattern package
        from reme_compact.archive.matching_lines import matching_lines  # noqa: PLC0415

        matching_lines((), pattern, timeout_seconds=PATTERN_SECONDS)
        text = result_text({"output": self._archive.original(reference, self._session)}) or ""
        if given.offset > len(text):
            message = f"must be a whole number from 0 to {len(text)}"
            raise InvalidRequestError([{"path": "offset", "message": message}])
        matches = matching_lines(_cut(text), pattern, timeout_seconds=PATTERN_SECONDS, start=given.offset)
        return answer_with_lines(matches, given.max_chars, len(text))


def failure_text(error: ReMeError) -> str:
    """Return what a model reads when it could not get what it asked for: the four fields as JSON."""
    return json.dumps(error.fields(), ensure_ascii=False, separators=(",", ":"))


def _with_last_line(piece: Piece) -> str:
    if piece.next_offset is None:
        if piece.text or not piece.total_chars:
            return piece.text
        return f"[Nothing follows. The original has {piece.total_chars} characters.]"
    return (
        f"{piece.text}\n[Characters {piece.offset} to {piece.next_offset} of {piece.total_chars}. "
        f"To go on, call again with offset={piece.next_offset}.]"
    )


def _cut(text: str) -> Iterator[str]:
    """Cut a text so that its lines are not all there at once."""
    for start in range(0, len(text), _SEARCHED_AT_ONCE):
        yield text[start : start + _SEARCHED_AT_ONCE]
