"""Envelopes: what is known about an original, one per session and call. An envelope is a claim on the text."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any, Literal

from reme_compact.archive.names import envelope_name, parse_name
from reme_compact.archive.reference import Reference, Session
from reme_compact.archive.sealed import compact_json, seal, unseal
from reme_compact.contract.errors import ArchiveDamagedError, InvalidRequestError

SCHEMA_VERSION = 1
_WHAT = "An envelope"
_CLAIM_DIGITS = 32
_SAME_NAME = ("tool", "call_id", "characters", "sha256", "index_sha256", "blocks", "token")
_KEYS: dict[str, tuple[type, ...]] = {
    "schema_version": (int,),
    "session": (str,),
    "owner": (str,),
    "tool": (str,),
    "call_id": (str,),
    "bytes": (int,),
    "characters": (int,),
    "sha256": (str,),
    "index_sha256": (str, type(None)),
    "format": (str,),
    "blocks": (list, type(None)),
    "created_at": (str,),
    "token": (str,),
}


@dataclass(frozen=True, slots=True)
class Envelope:
    """What is known about one stored output.

    Attributes:
        session: whose it is.
        tool: name of the tool that was called.
        call_id: id of the call; not unique in every history.
        byte_count: length of the text as UTF-8.
        characters: length of the text in code points.
        sha256: of the text's bytes, hexadecimal.
        index_sha256: of the index of a text that is kept in more than one chunk.
        blocks: for content blocks, the blocks with each text replaced by its place; else null.
        created_at: when the output was first stored for this call, UTC.
        token: drawn anew by everybody who stores the same again, so that one of them can tell that others did.

    """

    session: Session
    tool: str
    call_id: str
    byte_count: int
    characters: int
    sha256: str
    index_sha256: str | None
    blocks: list[dict[str, Any]] | None
    created_at: datetime
    token: str

    @property
    def reference(self) -> Reference:
        """The reference that this envelope backs."""
        return Reference(self.session.id, self.sha256)

    @property
    def format(self) -> Literal["text", "blocks"]:
        """Whether the output was a text or content blocks."""
        return "text" if self.blocks is None else "blocks"

    @property
    def claim(self) -> str:
        """What tells this envelope from others of the same reference: 32 hexadecimal digits."""
        # An id may be used again with the same text in other blocks, and then both must be kept.
        return sha256(compact_json([self.call_id, self.tool, self.blocks])).hexdigest()[:_CLAIM_DIGITS]

    @property
    def name(self) -> str:
        """Where it is in a store."""
        return envelope_name(self.reference, self.claim)

    def to_bytes(self) -> bytes:
        """Return what is written."""
        return seal(
            {
                "schema_version": SCHEMA_VERSION,
                "session": self.session.name,
                "owner": self.session.owner,
                "tool": self.tool,
                "call_id": self.call_id,
                "bytes": self.byte_count,
                "characters": self.characters,
                "sha256": self.sha256,
                "index_sha256": self.index_sha256,
                "format": self.format,
                "blocks": self.blocks,
                "created_at": self.created_at.isoformat(),
                "token": self.token,
            }
        )


def parse_envelope(data: bytes, name: str) -> Envelope:
    """Return the envelope that was read under a name.

    Raises:
        ArchiveDamagedError: it is damaged, of another version, or belongs under another name.

    """
    document = unseal(data, _WHAT)
    check_document(document, _KEYS, _WHAT)
    session = parse_session(document, _WHAT)
    try:
        created_at = datetime.fromisoformat(document["created_at"])
    except ValueError:
        raise foreign(_WHAT) from None
    envelope = Envelope(
        session=session,
        created_at=created_at,
        byte_count=document["bytes"],
        **{key: document[key] for key in _SAME_NAME},
    )
    if envelope.name != name or parse_name(name) is None or envelope.format != document["format"]:
        raise foreign(_WHAT)
    return envelope


def check_document(document: Mapping[str, Any], keys: Mapping[str, tuple[type, ...]], what: str) -> None:
    """Refuse a document of another version, with other keys or other kinds of values."""
    if document.get("schema_version") != SCHEMA_VERSION:
        raise ArchiveDamagedError(f"{what} in the archive was written by another version of reme-compact.")
    # type() and not isinstance(): true is not a number here.
    if document.keys() != keys.keys() or any(type(document[key]) not in kinds for key, kinds in keys.items()):
        raise foreign(what)


def parse_session(document: Mapping[str, Any], what: str) -> Session:
    """Return the session that a document names."""
    try:
        return Session(document["session"], document["owner"])
    except InvalidRequestError:
        raise foreign(what) from None


def foreign(what: str) -> ArchiveDamagedError:
    """Return the error for a document that is whole, but not in its place."""
    return ArchiveDamagedError(f"{what} in the archive does not belong where it was found.")
