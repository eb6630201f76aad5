"""Reading an original back, as the OpenAPI document describes it."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from reme_compact.contract import errors
from reme_compact.service.documented_failures import ANY_ORIGINAL, ANY_PATH, Responses, failures


class OriginalPiece(BaseModel):
    """A piece of an original. The texts of all pieces, read on from `next_offset`, joined are the original."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    ref: str = Field(description="The reference, as it stands in a preview.")
    text: str = Field(
        description="The piece, verbatim, except that a lone surrogate, which no text should hold, stands as its JSON "
        "escape; strict readers refuse that. No character that a reader sees as one is cut."
    )
    offset: int = Field(
        ge=0, description="Where it begins, in code points; less than asked for if that was inside such a character."
    )
    next_offset: int | None = Field(description="Where the next piece begins; null: this is the last one.")
    total_chars: int = Field(ge=0, description="Length of the original in code points.")
    complete: bool = Field(description="Whether nothing follows.")


PATH_PARAMETERS: list[dict[str, Any]] = [
    {
        "name": name,
        "in": "path",
        "required": True,
        "description": description,
        "schema": {"type": "string", "pattern": f"^[0-9a-f]{{{digits}}}$"},
    }
    for name, digits, description in (
        ("session_id", 32, "The second part of the reference: whose original it is."),
        ("content", 64, "The third part of the reference: what the original is."),
    )
]

EXAMPLE_PIECE: dict[str, Any] = {
    "ref": f"archive/{'0b5f' * 8}/{'92e1' * 16}",
    "text": "icons/cart.svg\n",
    "offset": 0,
    "next_offset": 15,
    "total_chars": 29,
    "complete": False,
}

_HEADERS: dict[str, Any] = {
    "Cache-Control": {
        "description": "`private, no-store`: an original may be deleted at any time.",
        "required": True,
        "schema": {"type": "string"},
    }
}


def piece_responses() -> Responses:
    """Describe the answers to a request for a piece of an original."""
    content = {"application/json": {"example": EXAMPLE_PIECE}}
    answer = {"description": "A piece of the original.", "headers": _HEADERS, "content": content}
    return {200: answer} | failures(*ANY_PATH, *ANY_ORIGINAL, errors.InvalidRequestError, errors.TooBusyError)
