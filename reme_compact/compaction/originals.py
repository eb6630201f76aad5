"""The originals of one compaction: stored and read back before anything is proposed, let go of if it is not."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from threading import Lock, Thread
from typing import TypeAlias, TypeVar

from reme_compact.archive.archive import Archive
from reme_compact.archive.reference import Session
from reme_compact.archive.session_references import OwnReferences
from reme_compact.archive.storing import NewEntry, Stored
from reme_compact.compaction.plan import Replacement
from reme_compact.compaction.supervision import WorkStoppedError
from reme_compact.contract.errors import ReMeError
from reme_compact.history.protection import Candidate

ARCHIVE_FAILED = "archive_failed"
"""Rule that keeps a result whose original could not be stored, or not read back."""

UNRESOLVED = "unresolved_source_ref"
"""Rule that keeps a result whose source ref the host could not find again."""

Resolve: TypeAlias = Callable[[str], bool]
_Item = TypeVar("_Item")
_Found = TypeVar("_Found")

_THREADS = 8
_STORED_AT_ONCE = 1_000


class Originals:
    """Sees that the original of everything that is replaced can be read back. Its methods block.

    Args:
        archive: keeps the originals of results without a source ref; null: there are none.
        session: whose they are.
        resolve: tells of a host's source ref whether an original is found under it; null: the host is believed.
    """

    def __init__(self, archive: Archive | None, session: Session | None, resolve: Resolve | None) -> None:
        self._has_archive = archive is not None
        self._archive = archive if session is not None else None
        self._session = session
        self._resolve = resolve
        self._stored: dict[str, Stored] = {}
        self._lock = Lock()
        self._is_handed_over = False
        self._is_abandoned = False

    @property
    def is_unused(self) -> bool:
        """Whether there is an archive, and no session for which anything could be kept in it."""
        return self._has_archive and self._session is None

    @property
    def references(self) -> OwnReferences | None:
        """References of the session; null: this compaction has no archive."""
        return OwnReferences(self._session) if self._session is not None and self._archive is not None else None

    def secure(
        self, replacements: Sequence[Replacement], check: Callable[[], None]
    ) -> tuple[dict[str, str], list[str]]:
        """See that each original can be read back.

        Args:
            replacements: what may be replaced.
            check: is called again and again and may raise.

        Returns:
            Per decision id of those that cannot be read back, the rule that keeps them; and warnings that say why.
        """
        of_keeper: dict[str, list[Candidate]] = {"host": [], "archive": [], "archive_already": []}
        for replacement in replacements:
            of_keeper[replacement.candidate.kept_by].append(replacement.candidate)
        # What was read back may stand whole in the history, too, so that goes first.
        failures = self._store(of_keeper["archive"], check)
        failures |= self._store(of_keeper["archive_already"], check)
        unresolved = self._unresolved(of_keeper["host"], check)
        rules = {**dict.fromkeys(failures, ARCHIVE_FAILED), **dict.fromkeys(unresolved, UNRESOLVED)}
        warnings = [
            f"{number} results could not be archived and are kept: {message}"
            for message, number in Counter(failures.values()).items()
        ]
        if unresolved:
            warnings.append(f"{len(unresolved)} results are kept because their source_refs lead to no original.")
        return rules, warnings

    def settle(self, applied: Iterable[Replacement]) -> None:
        """Give up the claim to what was stored and is not replaced; what is left behind costs room, nothing else."""
        candidates = [replacement.candidate for replacement in applied]
        own = [self._stored[candidate.call.id] for candidate in candidates if candidate.call.id in self._stored]
        # Calls that share id and output share a claim.
        claims = {(stored.reference, stored.claim) for stored in own}
        rest = {
            decision_id: stored
            for decision_id, stored in self._stored.items()
            if (stored.reference, stored.claim) not in claims
        }
        self._unclaim(rest.values(), with_texts=False)
        for decision_id in rest:
            del self._stored[decision_id]

    def hand_over(self) -> None:
        """Leave what was stored to the proposal that refers to it.

        Raises:
            WorkStoppedError: nobody waits for the proposal any more.
        """
        with self._lock:
            if self._is_abandoned:
                raise WorkStoppedError
            self._is_handed_over = True

    def abandon(self) -> None:
        """Say that nobody waits for the proposal any more; if it was finished already, remove what it stored."""
        with self._lock:
            was_handed_over, self._is_abandoned = self._is_handed_over, True
        if was_handed_over and self._stored:
            # Nobody can wait for this: whoever calls is being cancelled.
            Thread(target=self.give_up, name="reme-compact-archive").start()

    def give_up(self) -> None:
        """Remove everything that this compaction stored, unless something else claims it."""
        self._unclaim(self._stored.values(), with_texts=True)
        self._stored.clear()

    def _store(self, candidates: Sequence[Candidate], check: Callable[[], None]) -> dict[str, str]:
        failures: dict[str, str] = {}
        remaining = iter(candidates)
        while piece := list(islice(remaining, _STORED_AT_ONCE)):
            check()
            failures.update(self._store_piece(piece))
        stored = [candidate for candidate in candidates if candidate.call.id in self._stored]
        return failures | self._confirm(stored, check)

    def _store_piece(self, candidates: Sequence[Candidate]) -> Iterator[tuple[str, str]]:
        """Store some; yield decision ids and words of those that could not be."""
        if self._archive is None or self._session is None:
            raise RuntimeError("there is no archive")
        kept: list[Candidate] = []
        entries: list[NewEntry] = []
        for candidate in candidates:
            try:
                output = (candidate.call.result or {})["output"]
                if candidate.kept_by == "archive_already":
                    # A claim of its own to what it read back: whoever claims that now may give it up meanwhile.
                    output = self._archive.original(candidate.source_ref, self._session)
            except ReMeError as error:
                yield candidate.call.id, error.message
            else:
                kept.append(candidate)
                entries.append(NewEntry(candidate.call.call_id, candidate.tool, output))
        outcomes = self._archive.store_many(self._session, entries)
        for candidate, outcome in zip(kept, outcomes, strict=True):
            if isinstance(outcome, Stored):
                self._stored[candidate.call.id] = outcome
            else:
                yield candidate.call.id, outcome.message

    def _confirm(self, candidates: Sequence[Candidate], check: Callable[[], None]) -> dict[str, str]:
        """Read back, and return decision ids and words of those that are not what they should be."""
        outcomes = _each(self._fault_of, candidates, check)
        return {
            candidate.call.id: fault for candidate, fault in zip(candidates, outcomes, strict=True) if fault is not None
        }

    def _fault_of(self, candidate: Candidate) -> str | None:
        if self._archive is None or self._session is None:
            raise RuntimeError("there is no archive")
        stored = self._stored.get(candidate.call.id)
        if stored is not None and stored.reference != candidate.source_ref:
            return "The result was changed while it was worked on."
        try:
            self._archive.confirm(candidate.source_ref, self._session, stored.claim if stored is not None else None)
        except ReMeError as error:
            return error.message
        return None

    def _unresolved(self, candidates: Sequence[Candidate], check: Callable[[], None]) -> list[str]:
        resolve = self._resolve
        if resolve is None:
            return []
        references = list(dict.fromkeys(candidate.source_ref for candidate in candidates))
        answers = _each(lambda reference: _is_found(resolve, reference), references, check)
        found: Mapping[str, bool] = dict(zip(references, answers, strict=True))
        return [candidate.call.id for candidate in candidates if not found[candidate.source_ref]]

    def _unclaim(self, stored: Iterable[Stored], *, with_texts: bool) -> None:
        entries = list(stored)
        if self._archive is not None and entries:
            try:
                self._archive.unclaim(entries, with_texts=with_texts)
            except ReMeError:
                # It stays claimed although nothing refers to it: room that `reme archive delete` gives back.
                return


def _is_found(resolve: Resolve, reference: str) -> bool:
    """Ask the host; whatever its code raises, nothing was found."""
    try:
        return resolve(reference) is True
    except Exception:  # noqa: BLE001 - a stranger's code
        return False


def _each(work: Callable[[_Item], _Found], items: Sequence[_Item], check: Callable[[], None]) -> list[_Found]:
    """Do something for each of many, several at once, since it mostly waits for a disk or a network."""
    if len(items) < 2:
        return [work(item) for item in items]
    outcomes: list[_Found] = []
    with ThreadPoolExecutor(min(_THREADS, len(items)), "reme-compact-archive") as pool:
        try:
            for outcome in pool.map(work, items):
                check()
                outcomes.append(outcome)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return outcomes
