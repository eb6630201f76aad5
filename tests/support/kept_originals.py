"""An archive with something in it, and a scripted service that reads pieces back from it."""

import json
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from scripted_service import ScriptedService

from reme_compact.archive.archive import Archive
from reme_compact.archive.filesystem import FilesystemStorage
from reme_compact.archive.reference import Session
from reme_compact.archive.storing import NewEntry

TRAVEL = Session("travel")
_AWKWARD = "\ud83d\ude00 apart, 😀 together \ud800\r\ne\u0301nd without a line break: 👩‍👩‍👧 grün"
AWKWARD = _AWKWARD * 3 + "nothing special\n" * 2_500 + _AWKWARD
"""Text that does not survive a careless hand: lone surrogates in a row, long graphemes, no last line break."""


def archive_at(directory: Any) -> Archive:
    return Archive(FilesystemStorage(directory))


def keep(archive: Archive, output: Any, session: Session = TRAVEL, call_id: str = "call_1") -> str:
    """Store an output and return its reference."""
    return archive.store(session, NewEntry(call_id, "read_file", output)).reference


def serves_pieces(service: ScriptedService, archive: Archive, reference: str, **changes: Any) -> None:
    """Let a scripted service read a reference back, with changes to what it answers."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        query = dict(parse_qsl(urlsplit(handler.path).query))
        piece = archive.read(
            reference, archive.session_of(reference), int(query.get("offset", 0)), int(query.get("max_chars", 8192))
        )
        document = {
            "ref": reference,
            "text": piece.text,
            "offset": piece.offset,
            "next_offset": piece.next_offset,
            "total_chars": piece.total_chars,
            "complete": piece.complete,
            **changes,
        }
        content = json.dumps(document).encode("ascii")
        handler.send_response_only(200)
        handler.send_header("content-length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    service.script[f"GET /{reference}"] = [answer]
