"""Reading everything that an archive keeps, and naming what is not as it was stored."""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256

from reme_compact.archive.envelope import parse_envelope
from reme_compact.archive.names import SESSIONS, TEXTS, Name, folder_of, parse_name, record_name
from reme_compact.archive.outputs import put_together
from reme_compact.archive.reference import Session
from reme_compact.archive.session_record import parse_session_record
from reme_compact.archive.storage import Storage
from reme_compact.archive.stored_text import StoredText
from reme_compact.contract.errors import ArchiveDamagedError


@dataclass(frozen=True, slots=True)
class Damage:
    """One name in the store, and what is wrong with it."""

    name: str
    message: str


@dataclass(frozen=True, slots=True)
class Verification:
    """How much was read, and everything that is damaged."""

    sessions: int
    envelopes: int
    texts: int
    damages: tuple[Damage, ...]


def verify(storage: Storage, session: Session | None) -> Verification:
    """Read and check a session and the originals it claims, or the whole archive."""
    return _Verifier(storage).verify(session)


class _Verifier:
    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._texts: dict[str, str | None] = {}
        self._sessions: set[str] = set()
        self._recorded: set[str] = set()
        self._envelopes = 0
        self._damages: list[Damage] = []

    def verify(self, session: Session | None) -> Verification:
        for name, kind in self._parsed(SESSIONS if session is None else folder_of(session.id)):
            self._sessions.add(kind.session_id)
            if kind.kind == "record":
                self._recorded.add(kind.session_id)
                self._verify_record(name)
            else:
                self._verify_envelope(name)
        for session_id in self._sessions - self._recorded:
            self._note(record_name(session_id), "The record that names this session is missing.")
        if session is None:
            self._verify_unclaimed_texts()
        damages = tuple(sorted(self._damages, key=lambda damage: damage.name))
        return Verification(len(self._sessions), self._envelopes, len(self._texts), damages)

    def _parsed(self, prefix: str) -> Iterator[tuple[str, Name]]:
        try:
            names = list(self._storage.list(prefix))
        except ArchiveDamagedError as error:
            self._note(prefix, error.message)
            return
        for name in names:
            kind = parse_name(name)
            if kind is None:
                self._note(name, "The archive writes nothing of this name.")
            else:
                yield name, kind

    def _verify_record(self, name: str) -> None:
        try:
            parse_session_record(self._storage.read(name), name)
        except FileNotFoundError:
            return
        except ArchiveDamagedError as error:
            self._note(name, error.message)

    def _verify_envelope(self, name: str) -> None:
        self._envelopes += 1
        try:
            envelope = parse_envelope(self._storage.read(name), name)
        except FileNotFoundError:
            return
        except ArchiveDamagedError as error:
            self._note(name, error.message)
            return
        try:
            if envelope.sha256 in self._texts and envelope.blocks is None:
                problem = self._texts[envelope.sha256]
            else:
                put_together(StoredText(self._storage, envelope).whole(), envelope.blocks)
                problem = None
        except ArchiveDamagedError as error:
            problem = error.message
        self._texts.setdefault(envelope.sha256, problem)
        if problem is not None:
            self._note(name, problem)

    def _verify_unclaimed_texts(self) -> None:
        for name, kind in self._parsed(TEXTS):
            if kind.kind != "text" or kind.sha256 in self._texts:
                continue
            self._texts[kind.sha256] = None
            try:
                if sha256(self._storage.read(name)).hexdigest() != kind.sha256:
                    self._note(name, "A text that no session claims is damaged.")
            except FileNotFoundError:
                continue
            except ArchiveDamagedError as error:
                self._note(name, error.message)

    def _note(self, name: str, message: str) -> None:
        self._damages.append(Damage(name, message))
