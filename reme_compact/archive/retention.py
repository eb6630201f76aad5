"""Removing what no session claims; nothing is ever removed unless somebody asked for it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from reme_compact.archive.envelope import parse_envelope
from reme_compact.archive.envelopes import claims
from reme_compact.archive.names import (
    SESSIONS,
    TEMPORARY,
    TEXTS,
    envelope_name,
    folder_of,
    index_name,
    is_unfinished,
    parse_name,
    record_name,
    text_name,
)
from reme_compact.archive.reference import Session, parse_reference
from reme_compact.archive.storage import Storage
from reme_compact.archive.storing import Stored
from reme_compact.contract.errors import ArchiveDamagedError

UNCLAIMED = "no session claims it"
UNFINISHED = "it was left by a write that did not finish"
EMPTY_SESSION = "its session keeps nothing"
DELETED = "its session is deleted"
ABORTED = "only a compaction that was given up claimed it"


@dataclass(frozen=True, slots=True)
class Removal:
    """One object that was removed, or would be; its size in bytes, and why."""

    name: str
    bytes: int
    reason: str


@dataclass(frozen=True, slots=True)
class Removals:
    """What was removed, or would be in a dry run.

    Attributes:
        removed: one after the other.
        dry_run: whether it was only looked.
        too_young: objects that would have gone, were they older.

    """

    removed: tuple[Removal, ...]
    dry_run: bool
    too_young: int = 0

    @property
    def bytes(self) -> int:
        """Bytes of everything that was removed."""
        return sum(removal.bytes for removal in self.removed)


def collect(storage: Storage, *, unchanged_since: float, dry_run: bool) -> Removals:
    """Remove texts without an envelope, records of empty sessions, and leftovers of interrupted writes.

    Args:
        storage: where.
        unchanged_since: seconds since 1970; what was written or touched later stays.
        dry_run: only look.

    """
    candidates = dict(_unclaimed(storage))
    if dry_run or not candidates:
        return _aged(storage, candidates, unchanged_since, dry_run=dry_run)
    with storage.removing():
        # Looked through again: meanwhile somebody may have claimed what nobody claimed before.
        found = _aged(storage, dict(_unclaimed(storage)), unchanged_since, dry_run=False)
        storage.delete([removal.name for removal in found.removed])
    return found


def delete_session(storage: Storage, session: Session, *, dry_run: bool) -> Removals:
    """Remove a session: its envelopes and its record, and the texts that nobody else claims.

    Where other processes cannot be held off, the texts are left to `collect`.
    """
    if dry_run:
        return Removals(tuple(_of_session(storage, session)), dry_run=True)
    with storage.removing():
        removed = list(_of_session(storage, session))
        storage.delete([removal.name for removal in removed])
    return Removals(tuple(removed), dry_run=False)


def unclaim(storage: Storage, stored: Iterable[Stored], *, with_texts: bool = True) -> Removals:
    """Take back what one compaction stored, unless something else stored the same in the meantime.

    Where other processes cannot be held off, nobody can tell that, and nothing is removed. Whether a text is claimed
    by nobody is known only after a look at all claims; without `with_texts` that is left to `collect`.
    """
    if not storage.excludes_others:
        return Removals((), dry_run=False)
    removed: list[Removal] = []
    with storage.removing():
        own = [entry for entry in stored if entry.is_new_claim and _is_untouched(storage, entry)]
        references = [parse_reference(entry.reference) for entry in own]
        names = [envelope_name(reference, entry.claim) for reference, entry in zip(references, own, strict=True)]
        removed += _described(storage, names, ABORTED)
        storage.delete(names)
        if not with_texts:
            return Removals(tuple(removed), dry_run=False)
        new_texts = {reference.sha256 for reference, entry in zip(references, own, strict=True) if entry.is_new_text}
        remaining = list(claims(storage))
        texts = _text_names(new_texts - {claim.sha256 for claim in remaining})
        sessions = {reference.session_id for reference in references} - {claim.session_id for claim in remaining}
        leftovers = [*texts, *map(record_name, sorted(sessions))]
        removed += _described(storage, leftovers, ABORTED)
        storage.delete(leftovers)
    return Removals(tuple(removed), dry_run=False)


def _unclaimed(storage: Storage) -> Iterator[tuple[str, str]]:
    """Yield names that could go, each with the reason."""
    names = list(storage.list(SESSIONS))
    parsed = [(name, kind) for name in names if (kind := parse_name(name)) is not None]
    texts = {kind.sha256 for _, kind in parsed if kind.kind == "envelope"}
    sessions = {kind.session_id for _, kind in parsed if kind.kind == "envelope"}
    for name, kind in parsed:
        if kind.kind == "record" and kind.session_id not in sessions:
            yield name, EMPTY_SESSION
    for name in storage.list(TEXTS):
        text = parse_name(name)
        if text is not None and text.sha256 not in texts:
            yield name, UNCLAIMED
    for name in storage.list(TEMPORARY):
        # A directory that is used for something else as well may hold a folder of this name.
        if is_unfinished(name):
            yield name, UNFINISHED


def _aged(storage: Storage, candidates: dict[str, str], unchanged_since: float, *, dry_run: bool) -> Removals:
    removed: list[Removal] = []
    too_young = 0
    for name, reason in candidates.items():
        try:
            info = storage.info(name)
        except ArchiveDamagedError:
            continue
        if info is None:
            continue
        if info.modified > unchanged_since:
            too_young += 1
        else:
            removed.append(Removal(name, info.size, reason))
    return Removals(tuple(removed), dry_run, too_young)


def _of_session(storage: Storage, session: Session) -> Iterator[Removal]:
    names = [name for name in storage.list(folder_of(session.id)) if parse_name(name) is not None]
    # Envelopes first: a record without envelopes can be collected, envelopes without a record cannot be listed.
    names.sort(key=lambda name: name == record_name(session.id))
    yield from _described(storage, names, DELETED)
    if storage.excludes_others:
        own = {kind.sha256 for name in names if (kind := parse_name(name)) is not None and kind.kind == "envelope"}
        others = {claim.sha256 for claim in claims(storage) if claim.session_id != session.id}
        yield from _described(storage, _text_names(own - others), UNCLAIMED)


def _is_untouched(storage: Storage, entry: Stored) -> bool:
    name = envelope_name(parse_reference(entry.reference), entry.claim)
    try:
        return parse_envelope(storage.read(name), name).token == entry.token
    except (FileNotFoundError, ArchiveDamagedError):
        return False


def _text_names(hashes: Iterable[str]) -> list[str]:
    return [name for digest in sorted(hashes) for name in (text_name(digest), index_name(digest))]


def _described(storage: Storage, names: Iterable[str], reason: str) -> Iterator[Removal]:
    for name in names:
        try:
            info = storage.info(name)
        except ArchiveDamagedError:
            yield Removal(name, 0, reason)
            continue
        if info is not None:
            yield Removal(name, info.size, reason)
