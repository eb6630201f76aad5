"""What `reme archive` does, each action as a function from an opened archive to a report."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from reme_compact.archive.archive import DEFAULT_GRACE_SECONDS
from reme_compact.archive.retention import Removals
from reme_compact.cli import archive_documents as documents
from reme_compact.cli import archive_text as texts
from reme_compact.cli.archive_opening import OpenedArchive
from reme_compact.cli.archive_sessions import session_given, unknown_session
from reme_compact.cli.call_numbers import LONGEST_SECONDS
from reme_compact.cli.reference_words import reference_of, truth_of
from reme_compact.cli.request_keys import Key
from reme_compact.cli.usage import UsageError, sentence
from reme_compact.cli.values import convert
from reme_compact.contract.errors import ArchiveDamagedError, InvalidRequestError, ReMeError


@dataclass(frozen=True, slots=True)
class Report:
    """What an action has to say.

    Attributes:
        document: for programs.
        text: for people.
        lost: what to say if it cannot be written, because it cannot be asked for again; else empty.
        failure: what was found wrong, to be raised when the report is written.

    """

    document: dict[str, Any]
    text: str
    lost: str = ""
    failure: ReMeError | None = None


def list_sessions(opened: OpenedArchive, given: dict[str, str]) -> Report:
    """List all sessions, or what one of them keeps."""
    archive, session = opened.archive, session_given(given)
    if session is not None:
        kept = archive.entries(session)
        if not kept.envelopes and not kept.damaged:
            raise unknown_session(archive, session)
        document = documents.entries_document(session, kept.envelopes, kept.damaged)
        text = texts.entries_text(kept.envelopes) + texts.damaged_text(kept.damaged)
        return Report(document, text, failure=_incomplete(len(kept.damaged)))
    listing = archive.sessions()
    sessions = []
    damaged = list(listing.damaged)
    for record in listing.sessions:
        kept = archive.entries(record.session)
        sessions.append((record, kept.envelopes))
        damaged += kept.damaged
    text = texts.sessions_text(sessions, opened.place) + texts.damaged_text(damaged)
    document = documents.sessions_document(opened.directory, sessions, damaged)
    return Report(document, text, failure=_incomplete(len(damaged)))


def describe_original(opened: OpenedArchive, given: dict[str, str]) -> Report:
    """Describe one original and the calls that had it as their result."""
    reference = reference_of(given)
    kept = opened.archive.stat(reference, opened.archive.session_of(reference))
    if not kept.envelopes:
        raise ArchiveDamagedError("All that the archive knows of this original is damaged: " + ", ".join(kept.damaged))
    document = documents.original_document(reference, kept.envelopes, kept.damaged)
    text = texts.original_text_facts(reference, kept.envelopes) + texts.damaged_text(kept.damaged)
    return Report(document, text, failure=_incomplete(len(kept.damaged)))


def delete_session(opened: OpenedArchive, given: dict[str, str]) -> Report:
    """Remove a session and what it alone keeps."""
    session, dry_run = session_given(given), truth_of(given, "dry_run")
    if session is None:
        raise UsageError("session: which one? `reme archive list` shows them all.")
    removals = opened.archive.delete(session, dry_run=True)
    if not removals.removed:
        raise unknown_session(opened.archive, session)
    if not dry_run:
        removals = opened.archive.delete(session)
    rest = ""
    if not opened.archive.storage.excludes_others:
        rest = (
            "\nOther processes cannot be held off here, so its texts stay until nobody claims them and they are old "
            f"enough:\n  {opened.command('archive', 'gc')}"
        )
    return _removed(removals, rest)


def verify_archive(opened: OpenedArchive, given: dict[str, str]) -> Report:
    """Read everything of a session, or of the whole archive, and name what is damaged."""
    session = session_given(given)
    verification = opened.archive.verify(session)
    if session is not None and not verification.sessions:
        raise unknown_session(opened.archive, session)
    count = len(verification.damages)
    failure = (
        ArchiveDamagedError(f"{texts.counted(count, 'object')} in the archive: damaged, and named in the output.")
        if count
        else None
    )
    return Report(documents.verification_document(verification), texts.verification_text(verification), failure=failure)


def collect_garbage(opened: OpenedArchive, given: dict[str, str]) -> Report:
    """Remove what no session claims."""
    dry_run, older_than = truth_of(given, "dry_run"), _older_than(given)
    opened.refuse_foreign()
    try:
        removals = opened.archive.gc(dry_run=dry_run, older_than_seconds=older_than)
    except InvalidRequestError as error:
        raise UsageError(sentence(error.message.replace("older_than_seconds", "older_than"))) from None
    return _removed(removals)


ACTIONS: Mapping[str, Callable[[OpenedArchive, dict[str, str]], Report]] = {
    "list": list_sessions,
    "stat": describe_original,
    "delete": delete_session,
    "verify": verify_archive,
    "gc": collect_garbage,
}


def _removed(removals: Removals, rest: str = "") -> Report:
    lost = "" if removals.dry_run or not removals.removed else texts.removals_total(removals)
    return Report(documents.removals_document(removals), texts.removals_text(removals) + rest, lost)


def _older_than(given: Mapping[str, str]) -> float:
    if "older_than" not in given:
        return DEFAULT_GRACE_SECONDS
    seconds: float = convert("older_than", Key(name="older_than", kind="number"), given["older_than"])
    if not 0 <= seconds <= LONGEST_SECONDS * 1000:
        raise UsageError("older_than: must be a number of seconds, at least 0.")
    return seconds


def _incomplete(damaged: int) -> ArchiveDamagedError | None:
    if not damaged:
        return None
    return ArchiveDamagedError(
        f"What is shown is not complete: {texts.counted(damaged, 'object')} of it cannot be read, and is named there. "
        "`reme archive verify` says what is wrong with each."
    )
