"""`reme recover`: read back the original that a preview stands for."""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reme_compact.archive.pieces import DEFAULT_PIECE_CHARS, MOST_PIECE_CHARS, Piece
from reme_compact.cli.exit_codes import ExitCode
from reme_compact.cli.job_output import choose_format, write_json
from reme_compact.cli.output import complain
from reme_compact.cli.recovered_text import write_lines, write_original
from reme_compact.cli.reference_words import REFERENCE_KEY, read_reference_words, reference_of, truth_of
from reme_compact.cli.served_original import ServedOriginal
from reme_compact.cli.service_keys import SERVICE_KEYS, find_service
from reme_compact.cli.source import escape
from reme_compact.cli.usage import UsageError, sentence
from reme_compact.client.originals import are_original
from reme_compact.contract.errors import ArchiveDamagedError, InvalidRequestError

if TYPE_CHECKING:
    from reme_compact.archive.matching_lines import MatchingLine
    from reme_compact.cli.originals import Original

RECOVER_KEYS: Mapping[str, str] = {
    REFERENCE_KEY: "the reference, as it stands in the last line of a preview, or that whole line; required",
    "offset": "where to begin, in characters, also to look for lines; default: 0",
    "max_chars": f"length of the piece, 1 to {MOST_PIECE_CHARS}; default: {DEFAULT_PIECE_CHARS}",
    "all": "true: everything from the offset to the end, byte for byte; default: false",
    "grep": "only the lines in which this regular expression is found, each after its offset",
    "archive": "directory or URL of an archive, which is then opened without a service, whatever session it is of",
    **SERVICE_KEYS,
    "timeout": "seconds for each request to the service; default: 60",
    "output": "text or json; default: text",
}
_OF_A_PIECE = ("max_chars", "all")
_OF_THE_SERVICE = ("host", "port", "timeout")
_FARTHEST = 10**12
_PATTERN_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What was asked for: a reference, a place in the original, and the further words of a command that goes on."""

    reference: str
    offset: int
    max_chars: int
    output: str
    words: tuple[str, ...]


def run(words: Sequence[str]) -> ExitCode:
    """Read the arguments, then read a piece, everything, or the lines that match, and write them."""
    given = read_reference_words(words, RECOVER_KEYS)
    wanted = _wanted(given)
    reads_all = truth_of(given, "all")
    pattern = given.get("grep")
    if pattern is not None:
        _check_pattern(given, pattern)
    original = _find(given, wanted.reference)
    if pattern is not None:
        _write_matches(original, wanted, pattern)
    elif reads_all:
        _write_rest(original, wanted)
    else:
        _write_piece(original.piece(wanted.offset, wanted.max_chars), wanted)
    return ExitCode.PROPOSAL


def _wanted(given: dict[str, str]) -> _Wanted:
    output = choose_format(given.get("output", "text"), ("text", "json"))
    offset = _number(given, "offset", 0, 0, _FARTHEST)
    size = _number(given, "max_chars", DEFAULT_PIECE_CHARS, 1, MOST_PIECE_CHARS)
    if "max_chars" in given and truth_of(given, "all"):
        raise UsageError("max_chars: is for one piece, and all=true reads to the end.")
    kept = ("max_chars", "archive", *SERVICE_KEYS)
    words = tuple(f"{key}={given[key] if key == 'archive' else escape(given[key])}" for key in kept if key in given)
    return _Wanted(reference_of(given), offset, size, output, words)


def _number(given: Mapping[str, str], key: str, default: int, least: int, most: int) -> int:
    if key not in given:
        return default
    from reme_compact.cli.call_numbers import whole  # noqa: PLC0415 - a call is mostly start-up

    return whole(key, given[key], least, most)


def _find(given: Mapping[str, str], reference: str) -> "Original":
    if "archive" in given:
        for key in _OF_THE_SERVICE:
            if key in given:
                raise UsageError(f"{key}: is for a service; with archive= none is asked.")
        from reme_compact.cli.archive_opening import open_archive  # noqa: PLC0415 - slow, and not needed by a call
        from reme_compact.cli.originals import KeptOriginal  # noqa: PLC0415 - slow, and not needed by a call

        return KeptOriginal(open_archive(given).archive, reference)
    return ServedOriginal(find_service(given), reference)


def _write_piece(piece: Piece, wanted: _Wanted) -> None:
    if wanted.output == "json":
        write_json(_document(piece, wanted))
        return
    write_original([piece.text])
    if piece.next_offset is not None:
        command = shlex.join(
            ("reme", "recover", f"ref={wanted.reference}", f"offset={piece.next_offset}", *wanted.words)
        )
        complain(
            f"this was {piece.offset:,} to {piece.next_offset:,} of {piece.total_chars:,} characters; to go on:\n"
            f"  {command}"
        )
    elif not piece.text and piece.total_chars:
        complain(f"nothing follows: the original ends at offset {piece.total_chars}")


def _write_rest(original: "Original", wanted: _Wanted) -> None:
    pieces = _checked_rest(original, wanted, wanted.offset)
    if wanted.output == "json":
        text = "".join(piece.text for piece in pieces)
        write_json(_document(Piece(text, pieces[0].offset, None, pieces[0].total_chars, complete=True), wanted))
    else:
        write_original(piece.text for piece in pieces)


def _checked_rest(original: "Original", wanted: _Wanted, offset: int) -> list[Piece]:
    """Read to the end; what begins at the beginning is held against the hash in the reference before it is used."""
    pieces = list(original.rest(offset))
    if pieces[0].offset == 0 and not are_original(pieces, wanted.reference):
        raise ArchiveDamagedError("What was read is not the original that the reference names, so it is not shown.")
    return pieces


def _check_pattern(given: Mapping[str, str], pattern: str) -> None:
    for key in _OF_A_PIECE:
        if key in given:
            raise UsageError(f"{key}: is for reading on, and grep= looks through everything from the offset on.")
    try:
        list(_matches([], pattern, 0))
    except InvalidRequestError as error:
        raise UsageError(sentence(error.message)) from None


def _write_matches(original: "Original", wanted: _Wanted, pattern: str) -> None:
    pieces = _checked_rest(original, wanted, 0)
    total = pieces[0].total_chars
    if wanted.offset > total:
        raise InvalidRequestError([{"path": "offset", "message": f"must be a whole number from 0 to {total}"}])
    matches = _matches((piece.text for piece in pieces), pattern, wanted.offset)
    if wanted.output == "json":
        found = [{"offset": line.offset, "text": line.text, "found_at": line.found_at} for line in matches]
        write_json({"ref": wanted.reference, "total_chars": total, "matches": found})
        count = len(found)
    else:
        count = write_lines((line.offset, line.text) for line in matches)
    if not count:
        where = f" from offset {wanted.offset} on" if wanted.offset else ""
        complain(f"nothing matched: the expression is found in no line of the original{where}")


def _matches(texts: Iterable[str], pattern: str, start: int) -> "Iterator[MatchingLine]":
    from reme_compact.archive.matching_lines import matching_lines  # noqa: PLC0415 - loads a large pattern package

    return matching_lines(texts, pattern, timeout_seconds=_PATTERN_SECONDS, start=start)


def _document(piece: Piece, wanted: _Wanted) -> dict[str, Any]:
    return {
        "ref": wanted.reference,
        "text": piece.text,
        "offset": piece.offset,
        "next_offset": piece.next_offset,
        "total_chars": piece.total_chars,
        "complete": piece.complete,
    }
