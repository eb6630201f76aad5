"""Finding the envelopes of a reference, of a session or of all."""

from collections.abc import Iterator
from dataclasses import dataclass

from reme_compact.archive.envelope import Envelope, parse_envelope
from reme_compact.archive.names import SESSIONS, Name, envelope_name, envelopes_of, folder_of, parse_name
from reme_compact.archive.reference import Reference, Session
from reme_compact.archive.storage import Storage
from reme_compact.contract.errors import ArchiveDamagedError, ReferenceNotFoundError


@dataclass(frozen=True, slots=True)
class Listing:
    """The envelopes of a session, oldest first, and the names of those that are damaged."""

    envelopes: tuple[Envelope, ...]
    damaged: tuple[str, ...]


def open_envelope(storage: Storage, reference: Reference, claim: str | None) -> Envelope:
    """Return the oldest envelope of a reference that is whole, or the one of a claim.

    Raises:
        ReferenceNotFoundError: there is none.
        ArchiveDamagedError: there are some, and all of them are damaged.

    """
    listing = envelopes_for(storage, reference, claim)
    if listing.envelopes:
        return listing.envelopes[0]
    raise damaged()


def envelopes_for(storage: Storage, reference: Reference, claim: str | None = None) -> Listing:
    """Return all envelopes of a reference.

    Raises:
        ReferenceNotFoundError: there is none.

    """
    names = list(storage.list(envelopes_of(reference))) if claim is None else [envelope_name(reference, claim)]
    listing = _read_all(storage, [name for name in names if parse_name(name) is not None])
    if not listing.envelopes and not listing.damaged:
        raise not_found()
    return listing


def envelopes_in(storage: Storage, session: Session) -> Listing:
    """Return all envelopes of a session."""
    parsed = ((name, parse_name(name)) for name in storage.list(folder_of(session.id)))
    return _read_all(storage, [name for name, kind in parsed if kind is not None and kind.kind == "envelope"])


def claims(storage: Storage) -> Iterator[Name]:
    """Yield the names of all envelopes, taken apart. A damaged envelope is a claim, too."""
    for name in storage.list(SESSIONS):
        parsed = parse_name(name)
        if parsed is not None and parsed.kind == "envelope":
            yield parsed


def damaged() -> ArchiveDamagedError:
    """Return the error for a reference whose envelopes are all damaged."""
    return ArchiveDamagedError(
        "The envelope of this original in the archive is damaged. `reme archive verify` names everything that is."
    )


def not_found() -> ReferenceNotFoundError:
    """Return the error for a reference that opens nothing; the same whether or not another session has it."""
    return ReferenceNotFoundError(
        "The archive keeps nothing under this reference for this session. It may have been deleted, or belong to "
        "another session."
    )


def _read_all(storage: Storage, names: list[str]) -> Listing:
    envelopes: list[Envelope] = []
    broken: list[str] = []
    for name in names:
        try:
            envelopes.append(parse_envelope(storage.read(name), name))
        except FileNotFoundError:
            continue
        except ArchiveDamagedError:
            broken.append(name)
    envelopes.sort(key=lambda envelope: (envelope.created_at, envelope.name))
    return Listing(tuple(envelopes), tuple(sorted(broken)))
