"""What commands about an archive say to programs, as plain data."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reme_compact.archive.envelope import Envelope
from reme_compact.archive.reference import Session
from reme_compact.archive.retention import Removals
from reme_compact.archive.session_record import SessionRecord
from reme_compact.archive.verification import Verification
from reme_compact.cli.archive_text import characters_of


def sessions_document(
    directory: Path | None, sessions: Sequence[tuple[SessionRecord, Sequence[Envelope]]], damaged: Sequence[str]
) -> dict[str, Any]:
    """Describe sessions, and name what could not be read of them; a URL, which may hold credentials, is not shown."""
    listed = [
        {
            **_session(record.session),
            "entries": len(envelopes),
            "chars": characters_of(envelopes),
            "created_at": record.created_at.isoformat(),
        }
        for record, envelopes in sessions
    ]
    return {
        "directory": str(directory) if directory is not None else None,
        "sessions": listed,
        "entries": sum(len(envelopes) for _, envelopes in sessions),
        "chars": sum(characters_of(envelopes) for _, envelopes in sessions),
        "damaged": list(damaged),
    }


def entries_document(session: Session, envelopes: Sequence[Envelope], damaged: Sequence[str]) -> dict[str, Any]:
    """Describe what a session keeps, and name what could not be read of it."""
    entries = [
        {"ref": str(envelope.reference), **_call(envelope), **_size(envelope), "sha256": envelope.sha256}
        for envelope in envelopes
    ]
    return {**_session(session), "entries": entries, "chars": characters_of(envelopes), "damaged": list(damaged)}


def original_document(reference: str, envelopes: Sequence[Envelope], damaged: Sequence[str]) -> dict[str, Any]:
    """Describe one original and the calls that had it as their result."""
    first = envelopes[0]
    return {
        "ref": reference,
        **_session(first.session),
        **_size(first),
        "sha256": first.sha256,
        "calls": [_call(envelope) for envelope in envelopes],
        "damaged": list(damaged),
    }


def removals_document(removals: Removals) -> dict[str, Any]:
    """Describe what was removed, or would be."""
    return {
        "dry_run": removals.dry_run,
        "removed": [
            {"name": removal.name, "bytes": removal.bytes, "reason": removal.reason} for removal in removals.removed
        ],
        "objects": len(removals.removed),
        "bytes": removals.bytes,
        "too_young": removals.too_young,
    }


def verification_document(verification: Verification) -> dict[str, Any]:
    """Describe how much was read, and what of it is damaged."""
    return {
        "sessions": verification.sessions,
        "entries": verification.envelopes,
        "texts": verification.texts,
        "damages": [{"name": damage.name, "message": damage.message} for damage in verification.damages],
    }


def _session(session: Session) -> dict[str, Any]:
    return {"session": session.name, "owner": session.owner}


def _call(envelope: Envelope) -> dict[str, Any]:
    return {
        "tool": envelope.tool,
        "call_id": envelope.call_id,
        "format": envelope.format,
        "created_at": envelope.created_at.isoformat(),
    }


def _size(envelope: Envelope) -> dict[str, Any]:
    return {"chars": envelope.characters, "bytes": envelope.byte_count}
