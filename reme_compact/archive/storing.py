"""Storing outputs: the text and its index first, then the envelope that claims it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from secrets import token_hex

from reme_compact.archive.chunks import CHUNK_BYTES, cut_into_chunks, index_to_bytes
from reme_compact.archive.envelope import Envelope, parse_envelope
from reme_compact.archive.names import folder_of, index_name, text_name
from reme_compact.archive.outputs import Output, take_apart
from reme_compact.archive.reference import Session, is_text, original_bytes
from reme_compact.archive.session_record import SessionRecord, parse_session_record
from reme_compact.archive.storage import NewObject, Storage
from reme_compact.contract.errors import ArchiveDamagedError, ArchiveError, InvalidRequestError, ReMeError

_BATCH_BYTES = 32 * 1024 * 1024
_BATCH_ENTRIES = 2_000
_LOOKED_FOR_ONE_BY_ONE = 8
_TOKEN_BYTES = 16


@dataclass(frozen=True, slots=True)
class NewEntry:
    """An output that shall be kept, and the call it answers."""

    call_id: str
    tool: str
    output: Output


@dataclass(frozen=True, slots=True)
class Stored:
    """What became of an entry.

    Attributes:
        reference: under which it is found.
        claim: which of the reference's envelopes is its own.
        token: what this storing wrote into that envelope; another one after it leaves another.
        is_new_claim: whether the envelope was not there before; of several who store the same at once, one is told so.
        is_new_text: whether the text was not there before.

    """

    reference: str
    claim: str
    token: str
    is_new_claim: bool
    is_new_text: bool


@dataclass(frozen=True, slots=True)
class _Prepared:
    position: int
    envelope: Envelope
    texts: tuple[NewObject, ...]
    size: int


def store_all(
    storage: Storage, session: Session, entries: Iterable[NewEntry], clock: Callable[[], datetime]
) -> list[Stored | ReMeError]:
    """Store entries, many at once; return for each what became of it, or why it was not stored."""
    outcomes: dict[int, Stored | ReMeError] = {}
    for batch in _batches(_prepare_all(session, entries, clock(), outcomes)):
        try:
            with storage.adding():
                _keep_record(storage, session, clock())
                _store_batch(storage, batch, outcomes)
        except ReMeError as error:
            for prepared in batch:
                outcomes.setdefault(prepared.position, error)
    return [outcomes[position] for position in range(len(outcomes))]


def _prepare_all(
    session: Session, entries: Iterable[NewEntry], now: datetime, outcomes: dict[int, Stored | ReMeError]
) -> Iterator[_Prepared]:
    for position, entry in enumerate(entries):
        try:
            yield _prepare(position, session, entry, now)
        except InvalidRequestError as error:
            outcomes[position] = error


def _prepare(position: int, session: Session, entry: NewEntry, now: datetime) -> _Prepared:
    for path, value in (("call_id", entry.call_id), ("tool", entry.tool)):
        if not is_text(value):
            raise InvalidRequestError([{"path": path, "message": "must be a text"}])
    text, blocks = take_apart(entry.output)
    data = original_bytes(text)
    digest = sha256(data).hexdigest()
    texts = [NewObject(text_name(digest), data)]
    index_sha256 = None
    if len(data) > CHUNK_BYTES:
        index = index_to_bytes(tuple(cut_into_chunks(data)))
        index_sha256 = sha256(index).hexdigest()
        texts.append(NewObject(index_name(digest), index))
    envelope = Envelope(
        session=session,
        tool=entry.tool,
        call_id=entry.call_id,
        byte_count=len(data),
        characters=len(text),
        sha256=digest,
        index_sha256=index_sha256,
        blocks=blocks,
        created_at=now,
        token=token_hex(_TOKEN_BYTES),
    )
    return _Prepared(position, envelope, tuple(texts), sum(len(new.data) for new in texts))


def _batches(prepared: Iterable[_Prepared]) -> Iterator[list[_Prepared]]:
    """Gather entries until they are worth the syncs that a batch shares, but do not fill the memory."""
    batch: list[_Prepared] = []
    size = 0
    for entry in prepared:
        batch.append(entry)
        size += entry.size
        if size >= _BATCH_BYTES or len(batch) >= _BATCH_ENTRIES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _keep_record(storage: Storage, session: Session, now: datetime) -> None:
    record = SessionRecord(session, now)
    try:
        parse_session_record(storage.read(record.name), record.name)
    except (FileNotFoundError, ArchiveDamagedError):
        (failure,) = storage.write([[NewObject(record.name, record.to_bytes())]])
        if isinstance(failure, ArchiveError):
            raise failure from None
    else:
        storage.touch(record.name)


def _store_batch(storage: Storage, batch: Sequence[_Prepared], outcomes: dict[int, Stored | ReMeError]) -> None:
    groups: list[list[NewObject]] = []
    writing: dict[str, tuple[int, Stored]] = {}
    repeated: list[tuple[int, int]] = []
    present: dict[str, bool] = {}
    # To list a session is dearer than to look for one envelope, and cheaper than to look for many.
    known = set(storage.list(folder_of(batch[0].envelope.session.id))) if len(batch) > _LOOKED_FOR_ONE_BY_ONE else None
    for prepared in batch:
        envelope = prepared.envelope
        name = envelope.name
        if name in writing:
            repeated.append((prepared.position, writing[name][0]))
            continue
        try:
            if envelope.sha256 not in present:
                present[envelope.sha256] = _is_present(storage, prepared.texts)
            if known is None or name in known:
                envelope = _with_first_date(storage, envelope, name)
        except ReMeError as error:
            outcomes[prepared.position] = error
            continue
        is_new_text = not present[envelope.sha256]
        groups.append([*(prepared.texts if is_new_text else ()), NewObject(name, envelope.to_bytes())])
        writing[name] = (
            prepared.position,
            Stored(
                str(envelope.reference), envelope.claim, envelope.token, is_new_claim=False, is_new_text=is_new_text
            ),
        )
    for (position, stored), outcome in zip(writing.values(), storage.write(groups), strict=True):
        outcomes[position] = outcome if isinstance(outcome, ArchiveError) else replace(stored, is_new_claim=outcome)
    for position, first in repeated:
        same = outcomes[first]
        outcomes[position] = replace(same, is_new_claim=False, is_new_text=False) if isinstance(same, Stored) else same


def _is_present(storage: Storage, texts: Sequence[NewObject]) -> bool:
    """Tell whether exactly these bytes are stored already, and note that they are in use.

    What is damaged counts as missing, and is written anew.
    """
    try:
        if any(storage.read(new.name) != new.data for new in texts):
            return False
    except (FileNotFoundError, ArchiveDamagedError):
        return False
    for new in texts:
        storage.touch(new.name)
    return True


def _with_first_date(storage: Storage, envelope: Envelope, name: str) -> Envelope:
    """Give an envelope the date of the one that it replaces."""
    try:
        return replace(envelope, created_at=parse_envelope(storage.read(name), name).created_at)
    except (FileNotFoundError, ArchiveDamagedError):
        return envelope
