"""Answers with JSON that is already written."""

from collections.abc import AsyncIterator, Mapping

from starlette.responses import Response, StreamingResponse

_JSON = "application/json"


def json_answer(content: bytes | str, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Answer with a small document."""
    return Response(content, status, headers=dict(headers or {}), media_type=_JSON)


def answer_in_pieces(pieces: list[bytes], headers: Mapping[str, str] | None = None) -> Response:
    """Send a large document bit by bit, so that other requests get their turn meanwhile."""
    if len(pieces) == 1:
        return json_answer(pieces[0], headers=headers)
    length = {"content-length": str(sum(map(len, pieces)))}
    return StreamingResponse(_one_by_one(pieces), 200, length | dict(headers or {}), media_type=_JSON)


async def _one_by_one(pieces: list[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece
