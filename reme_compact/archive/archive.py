"""The archive: originals are stored, found by their references, read back, and removed only when asked to."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from reme_compact.archive.envelope import Envelope
from reme_compact.archive.envelopes import Listing, damaged, envelopes_for, envelopes_in, not_found, open_envelope
from reme_compact.archive.names import SESSIONS, parse_name, record_name
from reme_compact.archive.outputs import Output, put_together
from reme_compact.archive.pieces import DEFAULT_PIECE_CHARS, Piece, cut_piece
from reme_compact.archive.reference import Reference, Session, as_session, parse_reference
from reme_compact.archive.retention import Removals, collect, delete_session, unclaim
from reme_compact.archive.session_record import SessionRecord, parse_session_record
from reme_compact.archive.storage import Storage
from reme_compact.archive.stored_text import StoredText
from reme_compact.archive.storing import NewEntry, Stored, store_all
from reme_compact.archive.verification import Verification, verify
from reme_compact.contract.errors import ArchiveDamagedError, InvalidRequestError, ReMeError

DEFAULT_GRACE_SECONDS = 24 * 60 * 60.0
LEAST_GRACE_SECONDS = 60 * 60.0
"""Least age that `gc` asks for where it cannot hold off other processes."""


@dataclass(frozen=True, slots=True)
class SessionListing:
    """All sessions that an archive knows, and the names of records that are damaged."""

    sessions: tuple[SessionRecord, ...]
    damaged: tuple[str, ...]


def utc_now() -> datetime:
    """Return the time of the machine's clock."""
    return datetime.now(UTC)


class Archive:
    """Originals in one place. All methods block; all may be called from many threads and processes at once.

    Every method may raise ArchiveUnavailableError, when the place cannot be read or written just now. A session may be
    given by its name alone, where nobody in particular owns it.

    Args:
        storage: the place.
        clock: tells the time, in UTC.

    """

    def __init__(self, storage: Storage, *, clock: Callable[[], datetime] = utc_now) -> None:
        self.storage = storage
        self._clock = clock

    def store(self, session: Session | str, entry: NewEntry) -> Stored:
        """Store one output so that it outlasts a crash; to store the same again is harmless.

        Raises:
            InvalidRequestError: the output is not only text, or is a preview of something that is kept already.

        """
        (outcome,) = self.store_many(session, [entry])
        if isinstance(outcome, ReMeError):
            raise outcome
        return outcome

    def store_many(self, session: Session | str, entries: Iterable[NewEntry]) -> list[Stored | ReMeError]:
        """Store outputs together, which is much cheaper; return for each one what became of it, or its error."""
        return store_all(self.storage, as_session(session), entries, self._clock)

    def confirm(self, reference: str, session: Session | str, claim: str | None = None) -> None:
        """Read back a whole original and hold it against all its hashes.

        Args:
            reference: which original.
            session: whose.
            claim: as in `Stored`; sparing a search for the envelopes of the reference.

        Raises:
            InvalidReferenceError: it is no reference.
            ReferenceNotFoundError: this session keeps no such original.
            ArchiveDamagedError: it is not what was stored.

        """
        self.original(reference, session, claim=claim)

    def read(
        self, reference: str, session: Session | str, offset: int = 0, max_chars: int = DEFAULT_PIECE_CHARS
    ) -> Piece:
        """Read one piece, checked, without reading the rest; see `cut_piece`.

        Raises:
            InvalidReferenceError: it is no reference.
            ReferenceNotFoundError: this session keeps no such original.
            ArchiveDamagedError: what was read is not what was stored.
            InvalidRequestError: the offset is not within the text, or `max_chars` not within its limits.

        """
        parsed = self._opened(reference, session)
        envelope = open_envelope(self.storage, parsed, None)
        try:
            return cut_piece(StoredText(self.storage, envelope), offset, max_chars)
        except ArchiveDamagedError:
            # Not damaged, if the session was deleted between the reading of its envelope and of the text.
            envelopes_for(self.storage, parsed)
            raise

    def original(
        self, reference: str, session: Session | str, *, call_id: str | None = None, claim: str | None = None
    ) -> Output:
        """Return the output that was stored: its text, or equal content blocks.

        Several calls of a session may have had the same text, in other blocks. Then the claim says which one is
        meant; the call id does unless it was used twice; and without either it is the one that was stored first.

        Raises:
            InvalidReferenceError: it is no reference.
            ReferenceNotFoundError: this session keeps no such original.
            ArchiveDamagedError: it is not what was stored.

        """
        parsed = self._opened(reference, session)
        if call_id is None:
            envelope = open_envelope(self.storage, parsed, claim)
        else:
            envelope = self._of_call(parsed, call_id, claim)
        try:
            return put_together(StoredText(self.storage, envelope).whole(), envelope.blocks)
        except ArchiveDamagedError:
            envelopes_for(self.storage, parsed, claim)
            raise

    def stat(self, reference: str, session: Session | str) -> Listing:
        """Return the envelopes of a reference: one for each call that had this text.

        Raises:
            InvalidReferenceError: it is no reference.
            ReferenceNotFoundError: this session keeps no such original.

        """
        return envelopes_for(self.storage, self._opened(reference, session))

    def session_of(self, reference: str) -> Session:
        """Return the session that a reference opens for. Whether the asker is its owner, the caller must check.

        Raises:
            InvalidReferenceError: it is no reference.
            ReferenceNotFoundError: no such session is known.
            ArchiveDamagedError: the session's record is damaged.

        """
        name = record_name(parse_reference(reference).session_id)
        try:
            return parse_session_record(self.storage.read(name), name).session
        except FileNotFoundError:
            raise not_found() from None

    def sessions(self) -> SessionListing:
        """Return all sessions, oldest first."""
        records: list[SessionRecord] = []
        broken: list[str] = []
        for name in self.storage.list(SESSIONS):
            kind = parse_name(name)
            if kind is None or kind.kind != "record":
                continue
            try:
                records.append(parse_session_record(self.storage.read(name), name))
            except FileNotFoundError:
                continue
            except ArchiveDamagedError:
                broken.append(name)
        records.sort(key=lambda record: (record.created_at, record.name))
        return SessionListing(tuple(records), tuple(sorted(broken)))

    def entries(self, session: Session | str) -> Listing:
        """Return everything that a session keeps, oldest first."""
        return envelopes_in(self.storage, as_session(session))

    def unclaim(self, stored: Iterable[Stored], *, with_texts: bool = True) -> Removals:
        """Take back what one compaction stored and will not return, unless something else stored the same since.

        Args:
            stored: what it stored.
            with_texts: remove texts that nobody claims any more, which takes a look at all claims there are; false:
                leave that to `gc`.
        """
        return unclaim(self.storage, stored, with_texts=with_texts)

    def delete(self, session: Session | str, *, dry_run: bool = False) -> Removals:
        """Remove a session and what it alone keeps."""
        return delete_session(self.storage, as_session(session), dry_run=dry_run)

    def verify(self, session: Session | str | None = None) -> Verification:
        """Read everything, of one session or of all, and name what is damaged."""
        return verify(self.storage, as_session(session) if session is not None else None)

    def gc(self, *, dry_run: bool = False, older_than_seconds: float = DEFAULT_GRACE_SECONDS) -> Removals:
        """Remove what no session claims, and say why.

        Args:
            dry_run: only say what would be removed.
            older_than_seconds: what was written or used more recently stays.

        Raises:
            InvalidRequestError: the age is negative, or too little where other processes cannot be held off.

        """
        least = 0.0 if self.storage.excludes_others or dry_run else LEAST_GRACE_SECONDS
        if not older_than_seconds >= least:
            raise InvalidRequestError(
                [
                    {
                        "path": "older_than_seconds",
                        "message": f"must be at least {least:.0f}: what is younger may be just being written",
                    }
                ]
            )
        unchanged_since = self._clock().timestamp() - older_than_seconds
        return collect(self.storage, unchanged_since=unchanged_since, dry_run=dry_run)

    def _opened(self, reference: str, session: Session | str) -> Reference:
        parsed = parse_reference(reference)
        if parsed.session_id != as_session(session).id:
            raise not_found()
        return parsed

    def _of_call(self, reference: Reference, call_id: str, claim: str | None) -> Envelope:
        listing = envelopes_for(self.storage, reference, claim)
        for envelope in listing.envelopes:
            if envelope.call_id == call_id:
                return envelope
        if listing.damaged:
            raise damaged()
        raise not_found()
