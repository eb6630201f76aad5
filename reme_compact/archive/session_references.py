"""The references of one session, known before anything is written."""

from reme_compact.archive.copied_reference import read_copied_reference
from reme_compact.archive.reference import Session, reference_to
from reme_compact.contract.errors import InvalidReferenceError


class OwnReferences:
    """References into the archive that open for one session (see `history.recovery.SessionReferences`)."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._id = session.id

    def to(self, text: str) -> str:
        """Return the reference under which a text is found once it is stored."""
        return str(reference_to(self._session, text))

    def copied(self, text: str) -> str | None:
        """Return the reference to this session that stands in a text; null: there is none, or another's."""
        try:
            reference = read_copied_reference(text)
        except InvalidReferenceError:
            return None
        return str(reference) if reference.session_id == self._id else None
