"""An original that a running service reads back."""

from collections.abc import Iterator

from reme_compact.archive.pieces import MOST_PIECE_CHARS, Piece
from reme_compact.cli.client import call_service
from reme_compact.cli.service_keys import Service
from reme_compact.client.answers import Answer
from reme_compact.client.authorization import API_KEY_VARIABLE
from reme_compact.client.calls import Call, converse
from reme_compact.client.originals import next_size, read_piece
from reme_compact.client.problems import QUERY, ReportedProblemError


class ServedOriginal:
    """An original, by its reference, in the archive of a service."""

    def __init__(self, service: Service, reference: str) -> None:
        self._service = service
        self._reference = reference

    def piece(self, offset: int, max_chars: int) -> Piece:
        """Read one piece, or less if it can only be told in less.

        Raises:
            ServiceUnavailableError: nothing that speaks this protocol answered in time.
            ReportedError: the service refused.

        """
        return converse(read_piece(self._reference, offset, max_chars), self._ask)

    def rest(self, offset: int) -> Iterator[Piece]:
        """Read piece after piece; raises as `piece`."""
        next_offset: int | None = offset
        size = MOST_PIECE_CHARS
        while next_offset is not None:
            piece = self.piece(next_offset, size)
            yield piece
            next_offset, size = piece.next_offset, next_size(piece)

    def _ask(self, call: Call) -> Answer:
        service, sent = self._service, call.sent
        try:
            return call_service(service.address, sent.method, sent.path, timeout_seconds=service.timeout_seconds)
        except ReportedProblemError as problem:
            raise _advised(problem, service) from None


def _advised(problem: ReportedProblemError, service: Service) -> ReportedProblemError:
    """Return a problem with advice, if there is any beyond what the service says."""
    problem = problem.without_prefix(QUERY)
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
