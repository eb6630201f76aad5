"""Conformance tests: what is removed, what is not, and what happens meanwhile."""

from datetime import UTC, datetime, timedelta

import pytest
from archive_base import ANNA, BERT, LONG, ArchiveSuiteBase, Interrupted, entry

from reme_compact.archive.archive import Archive
from reme_compact.archive.names import TEMPORARY, envelope_name, index_name, record_name, text_name
from reme_compact.archive.reference import Session, parse_reference
from reme_compact.archive.retention import ABORTED, DELETED, EMPTY_SESSION, UNCLAIMED, UNFINISHED
from reme_compact.archive.storage import Storage
from reme_compact.archive.storing import Stored
from reme_compact.contract.errors import (
    InvalidRequestError,
    ReferenceNotFoundError,
)

LEFT = "0123456789abcdef" * 2


class RemovalSuite(ArchiveSuiteBase):
    def test_gc_removes_only_what_no_session_claims(self, archive: Archive, storage: Storage) -> None:
        kept = archive.store(ANNA, entry(LONG))
        lost = archive.store(ANNA, entry("lost"))
        empty = Session("empty")
        emptied = archive.store(empty, entry("emptied"))
        self.put(storage, f"{TEMPORARY}{LEFT}", b"half")
        self.put(storage, f"{TEMPORARY}holiday.jpg", b"not the archive's")
        with storage.removing():
            for one in (lost, emptied):
                storage.delete([envelope_name(parse_reference(one.reference), one.claim)])
        looked = archive.gc(dry_run=True, older_than_seconds=-0.0)
        assert looked.dry_run
        expected = {
            text_name(parse_reference(lost.reference).sha256): UNCLAIMED,
            text_name(parse_reference(emptied.reference).sha256): UNCLAIMED,
            record_name(empty.id): EMPTY_SESSION,
            f"{TEMPORARY}{LEFT}": UNFINISHED,
        }
        assert {removal.name: removal.reason for removal in looked.removed} == expected
        later = Archive(storage, clock=lambda: datetime.now(UTC) + timedelta(days=2))
        done = later.gc()
        assert done.removed == looked.removed
        assert done.bytes == looked.bytes > 0
        assert archive.original(kept.reference, ANNA) == LONG
        assert later.gc().removed == ()
        assert storage.read(f"{TEMPORARY}holiday.jpg") == b"not the archive's"
        assert archive.verify().damages == ()

    def test_gc_lets_young_objects_be(self, archive: Archive, storage: Storage) -> None:
        self.put(storage, f"{TEMPORARY}{LEFT}", b"half")
        found = archive.gc(older_than_seconds=3600)
        assert (found.removed, found.too_young) == ((), 1)
        assert storage.read(f"{TEMPORARY}{LEFT}") == b"half"

    def test_gc_wants_a_sensible_age(self, archive: Archive) -> None:
        for age in (-1.0, float("nan")):
            with pytest.raises(InvalidRequestError):
                archive.gc(older_than_seconds=age)

    def test_a_damaged_envelope_still_claims_its_text(self, archive: Archive, storage: Storage) -> None:
        stored = archive.store(ANNA, entry())
        self.put(storage, envelope_name(parse_reference(stored.reference), stored.claim), b"broken")
        later = Archive(storage, clock=lambda: datetime.now(UTC) + timedelta(days=2))
        assert later.gc().removed == ()

    def test_delete_removes_one_session_and_what_it_alone_keeps(self, archive: Archive, storage: Storage) -> None:
        shared = archive.store(ANNA, entry("shared"))
        also = archive.store(BERT, entry("shared"))
        alone = archive.store(ANNA, entry("alone"))
        before = sorted([*storage.list("blobs/"), *storage.list("sessions/")])
        looked = archive.delete(ANNA, dry_run=True)
        assert sorted([*storage.list("blobs/"), *storage.list("sessions/")]) == before
        done = archive.delete(ANNA)
        assert done.removed == looked.removed
        assert {removal.reason for removal in done.removed} == {DELETED, UNCLAIMED}
        for gone in (shared, alone):
            with pytest.raises(ReferenceNotFoundError):
                archive.read(gone.reference, ANNA)
        assert archive.read(also.reference, BERT).text == "shared"
        assert [record.session for record in archive.sessions().sessions] == [BERT]
        assert archive.delete(ANNA).removed == ()

    def test_unclaim_takes_back_what_was_new(self, archive: Archive, storage: Storage) -> None:
        stored = [archive.store(ANNA, entry(text)) for text in ("a", LONG)]
        removed = archive.unclaim(stored)
        assert {removal.reason for removal in removed.removed} == {ABORTED}
        assert [*storage.list("blobs/"), *storage.list("sessions/")] == []

    def test_unclaim_lets_be_what_was_there_before(self, archive: Archive) -> None:
        archive.store(ANNA, entry())
        again = archive.store(ANNA, entry())
        assert archive.unclaim([again]).removed == ()
        assert archive.read(again.reference, ANNA).text == "the original"

    def test_unclaim_lets_be_what_something_else_claimed_since(self, archive: Archive) -> None:
        mine = archive.store(ANNA, entry())
        theirs = archive.store(ANNA, entry())
        assert archive.unclaim([mine]).removed == ()
        archive.confirm(theirs.reference, ANNA, theirs.claim)

    def test_unclaim_lets_be_a_text_that_another_session_claimed_since(self, archive: Archive) -> None:
        mine = archive.store(ANNA, entry())
        theirs = archive.store(BERT, entry())
        archive.unclaim([mine])
        assert archive.read(theirs.reference, BERT).text == "the original"

    def test_gc_looks_again_once_nobody_adds(self, storage: Storage) -> None:
        archive = Archive(storage)
        lost = archive.store(ANNA, entry())
        with storage.removing():
            storage.delete([envelope_name(parse_reference(lost.reference), lost.claim)])
        meanwhile = Interrupted(storage, before="removing", does=lambda: archive.store(BERT, entry()))
        removed = Archive(meanwhile, clock=lambda: datetime.now(UTC) + timedelta(days=2)).gc().removed
        assert [removal.name for removal in removed] == [record_name(ANNA.id)]
        assert archive.read(f"archive/{BERT.id}/{parse_reference(lost.reference).sha256}", BERT).text == "the original"

    def test_of_two_who_store_the_same_at_once_the_one_that_gives_up_takes_nothing_away(self, storage: Storage) -> None:
        archive = Archive(storage)
        first: list[Stored] = []
        meanwhile = Interrupted(storage, before="write", does=lambda: first.append(archive.store(ANNA, entry())))
        second = Archive(meanwhile).store(ANNA, entry())
        assert [first[0].is_new_claim, second.is_new_claim] == [True, False]
        for aborted in ([second], first):
            archive.unclaim(aborted)
            archive.confirm(second.reference, ANNA)

    def test_a_session_deleted_during_a_read_is_not_called_damaged(self, storage: Storage) -> None:
        archive = Archive(storage)
        stored = archive.store(ANNA, entry(LONG))
        index = index_name(parse_reference(stored.reference).sha256)
        for call in ("read", "original"):
            archive.store(ANNA, entry(LONG))
            meanwhile = Interrupted(storage, before="read", of=index, does=lambda: archive.delete(ANNA))
            with pytest.raises(ReferenceNotFoundError):
                getattr(Archive(meanwhile), call)(stored.reference, ANNA)
