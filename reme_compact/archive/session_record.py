"""Which session has an id: ids are hashes, and whoever lists or serves an archive needs the names."""

from dataclasses import dataclass
from datetime import datetime

from reme_compact.archive.envelope import SCHEMA_VERSION, check_document, foreign, parse_session
from reme_compact.archive.names import record_name
from reme_compact.archive.reference import Session
from reme_compact.archive.sealed import seal, unseal

_WHAT = "A session's record"
_KEYS: dict[str, tuple[type, ...]] = {
    "schema_version": (int,),
    "owner": (str,),
    "session": (str,),
    "created_at": (str,),
}


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """A session, and when something was first stored for it, UTC."""

    session: Session
    created_at: datetime

    @property
    def name(self) -> str:
        """Where it is in a store."""
        return record_name(self.session.id)

    def to_bytes(self) -> bytes:
        """Return what is written."""
        return seal(
            {
                "schema_version": SCHEMA_VERSION,
                "owner": self.session.owner,
                "session": self.session.name,
                "created_at": self.created_at.isoformat(),
            }
        )


def parse_session_record(data: bytes, name: str) -> SessionRecord:
    """Return the record that was read under a name.

    Raises:
        ArchiveDamagedError: it is damaged, of another version, or belongs under another name.

    """
    document = unseal(data, _WHAT)
    check_document(document, _KEYS, _WHAT)
    session = parse_session(document, _WHAT)
    try:
        record = SessionRecord(session, datetime.fromisoformat(document["created_at"]))
    except ValueError:
        raise foreign(_WHAT) from None
    if record.name != name:
        raise foreign(_WHAT)
    return record
