"""The references of one session, known before anything is written."""

from reme_compact.archive.reference import Session, parse_reference, reference_to
from reme_compact.contract.errors import InvalidReferenceError


class OwnReferences:
    """References into the archive that open for one session (see `history.recovery.SessionReferences`)."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._id = session.id

    def to(self, text: str) -> str:
        """Return the reference under which a text is found once it is stored."""
        return str(reference_to(self._session, text))

    def opens(self, reference: str) -> bool:
        """Tell whether a reference opens for this session."""
        try:
            return parse_reference(reference).session_id == self._id
        except InvalidReferenceError:
            return False
