"""What things are called in every store; hexadecimal digits only, whatever sessions and calls are called."""

import re
from dataclasses import dataclass
from typing import Literal

from reme_compact.archive.reference import Reference

TEXTS = "blobs/"
SESSIONS = "sessions/"
TEMPORARY = "temporary/"

_RECORD = "session.json"
_UNFINISHED = re.compile(r"temporary/[0-9a-f]{32}")
_TEXT = re.compile(r"blobs/(?P<shard>[0-9a-f]{2})/(?P<sha256>(?P=shard)[0-9a-f]{62})(?P<index>\.index)?")
_OF_SESSION = re.compile(
    r"sessions/(?P<session_id>[0-9a-f]{32})/(?:session\.json|(?P<sha256>[0-9a-f]{64})\.(?P<claim>[0-9a-f]{32})\.json)"
)


@dataclass(frozen=True, slots=True)
class Name:
    """A name in a store, taken apart; what does not apply is empty."""

    kind: Literal["text", "index", "record", "envelope"]
    sha256: str = ""
    session_id: str = ""
    claim: str = ""


def text_name(sha256: str) -> str:
    """Return where the bytes of a text are."""
    return f"{TEXTS}{sha256[:2]}/{sha256}"


def index_name(sha256: str) -> str:
    """Return where the index of a long text is."""
    return f"{text_name(sha256)}.index"


def folder_of(session_id: str) -> str:
    """Return what all names of a session begin with."""
    return f"{SESSIONS}{session_id}/"


def record_name(session_id: str) -> str:
    """Return where it is written which session has this id."""
    return f"{folder_of(session_id)}{_RECORD}"


def envelopes_of(reference: Reference) -> str:
    """Return what the names of all envelopes of one reference begin with."""
    return f"{folder_of(reference.session_id)}{reference.sha256}."


def envelope_name(reference: Reference, claim: str) -> str:
    """Return where one envelope is."""
    return f"{envelopes_of(reference)}{claim}.json"


def is_unfinished(name: str) -> bool:
    """Tell whether this is the name of a write that is under way or was interrupted."""
    return _UNFINISHED.fullmatch(name) is not None


def parse_name(name: str) -> Name | None:
    """Take a name apart; null if the archive never makes such a name."""
    if match := _TEXT.fullmatch(name):
        return Name("index" if match["index"] else "text", sha256=match["sha256"])
    match = _OF_SESSION.fullmatch(name)
    if match is None:
        return None
    if match["claim"] is None:
        return Name("record", session_id=match["session_id"])
    return Name("envelope", match["sha256"], match["session_id"], match["claim"])
