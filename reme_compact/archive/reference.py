"""Sessions, and references: names of originals, known before anything is written."""

import re
from dataclasses import dataclass
from hashlib import sha256

from reme_compact.contract.errors import InvalidReferenceError, InvalidRequestError

_REFERENCE = re.compile(r"archive/([0-9a-f]{32})/([0-9a-f]{64})")
_SESSION_ID_DIGITS = 32


@dataclass(frozen=True, slots=True)
class Session:
    """Whose originals they are.

    Attributes:
        name: what the host calls the session; not blank.
        owner: name of the API key that owns it, over HTTP; empty for embedded use.

    Raises:
        InvalidRequestError: the name is blank or not text.

    """

    name: str
    owner: str = ""

    def __post_init__(self) -> None:
        if not is_text(self.name) or not self.name.strip():
            raise InvalidRequestError([{"path": "session", "message": "must be a text that is not blank"}])
        if not is_text(self.owner):
            raise InvalidRequestError([{"path": "owner", "message": "must be a text"}])

    @property
    def id(self) -> str:
        """Name of the session inside references and stores: 32 hexadecimal digits."""
        owner = original_bytes(self.owner)
        # The length in front keeps apart owner "a" with session "bc" and owner "ab" with session "c".
        named = b"%d:%s:%s" % (len(owner), owner, original_bytes(self.name))
        return sha256(named).hexdigest()[:_SESSION_ID_DIGITS]


def as_session(session: Session | str) -> Session:
    """Return a session that was given as such, or by its name alone.

    Raises:
        InvalidRequestError: the name is blank or not text.

    """
    return session if isinstance(session, Session) else Session(session)


@dataclass(frozen=True, slots=True)
class Reference:
    """A parsed reference: the session it opens for, and the SHA-256 of the original's text as UTF-8."""

    session_id: str
    sha256: str

    def __str__(self) -> str:
        return f"archive/{self.session_id}/{self.sha256}"


def reference_to(session: Session, text: str) -> Reference:
    """Return the reference under which a session finds a text."""
    return Reference(session.id, sha256(original_bytes(text)).hexdigest())


def parse_reference(reference: str) -> Reference:
    """Take a reference apart.

    Only lower-case hexadecimal digits pass, so that no reference can name anything but an original.

    Raises:
        InvalidReferenceError: it is not exactly `archive/{32 digits}/{64 digits}`.

    """
    match = _REFERENCE.fullmatch(reference) if is_text(reference) else None
    if match is None:
        raise InvalidReferenceError(
            "This is not a reference into the archive. One looks like archive/SESSION/CONTENT, as it stands in the "
            "last line of a preview; copy it from there without the words around it."
        )
    return Reference(*match.groups())


def is_text(value: object) -> bool:
    """Tell whether a value that is declared to be text is, whatever a caller passed."""
    return isinstance(value, str)


def original_bytes(text: str) -> bytes:
    """Return a text as the bytes that are kept: UTF-8, in which lone surrogates are let pass."""
    return text.encode("utf-8", "surrogatepass")


def original_text(data: bytes) -> str:
    """Return the text that bytes were made from.

    Raises:
        UnicodeDecodeError: they were not made from a text.

    """
    return data.decode("utf-8", "surrogatepass")
