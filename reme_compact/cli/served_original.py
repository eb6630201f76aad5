"""An original that a running service reads back."""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

from reme_compact.archive.pieces import MOST_PIECE_CHARS, Piece
from reme_compact.cli.authorization import API_KEY_VARIABLE
from reme_compact.cli.client import Answer, ReportedProblemError, call_service
from reme_compact.cli.service_keys import Service

_QUERY = "query."
"""What the service writes before the keys of a query; on a command line there is no query."""


class ServedOriginal:
    """An original, by its reference, in the archive of a service.

    JSON cannot tell two lone surrogates in a row from the character that they would make as a pair. Such a piece is
    shorter than it says, and is asked for again in smaller ones until the two are apart.
    """

    def __init__(self, service: Service, reference: str) -> None:
        self._service = service
        self._reference = reference

    def piece(self, offset: int, max_chars: int) -> Piece:
        """Read one piece, or less if it can only be told in less.

        Raises:
            ServiceUnavailableError: nothing that speaks this protocol answered in time.
            ReportedError: the service refused.

        """
        while True:
            answer = self._ask(offset, max_chars)
            piece = piece_of(answer, self._reference, offset)
            if len(piece.text) == _length(piece):
                return piece
            if max_chars == 1:
                raise answer.unlike_a_service("text: is not as long as the piece")
            max_chars //= 2

    def rest(self, offset: int) -> Iterator[Piece]:
        """Read piece after piece; raises as `piece`."""
        next_offset: int | None = offset
        size = MOST_PIECE_CHARS
        while next_offset is not None:
            piece = self.piece(next_offset, size)
            yield piece
            next_offset = piece.next_offset
            # Where surrogates stand in a row there are often more of them.
            size = min(MOST_PIECE_CHARS, 2 * max(1, len(piece.text)))

    def _ask(self, offset: int, max_chars: int) -> Answer:
        query = urlencode({"offset": offset, "max_chars": max_chars})
        service = self._service
        try:
            return call_service(
                service.address,
                "GET",
                f"/{self._reference}?{query}",
                timeout_seconds=service.timeout_seconds,
            )
        except ReportedProblemError as problem:
            raise _advised(problem, service) from None


def piece_of(answer: Answer, reference: str, asked_offset: int) -> Piece:
    """Return the piece that a service answered; its text may be too short.

    Further fields are let through: a newer service may have more to say.

    Raises:
        ServiceUnavailableError: it is none, or not the one that was asked for, so whoever answered is no service.

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


def _advised(problem: ReportedProblemError, service: Service) -> ReportedProblemError:
    """Return a problem with advice, if there is any beyond what the service says."""
    problem = problem.without_prefix(_QUERY)
    advice = {
        "not_found": f"The service at {service.address} reads no originals back: it is older than this command line. "
        "With archive=LOCATION this command opens an archive itself.",
        "reference_not_found": f"The API key in {API_KEY_VARIABLE} may be another than the session's. With "
        "archive=LOCATION this command opens an archive itself.",
        "archive_damaged": "On the machine where the archive is, everything that is damaged is named by:\n"
        "  reme archive verify",
    }
    advice["method_not_allowed"] = advice["not_found"]
    return problem.advised(advice[problem.code]) if problem.code in advice else problem
