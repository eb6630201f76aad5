"""Conformance tests: objects of a place, storing outputs, reading them back."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from archive_base import ANNA, BERT, BLOCKS, LONG, ArchiveSuiteBase, CountingReads, entry

from reme_compact.archive.archive import Archive
from reme_compact.archive.names import TEMPORARY
from reme_compact.archive.reference import Session, parse_reference
from reme_compact.archive.storage import NewObject, Storage
from reme_compact.archive.storing import Stored
from reme_compact.contract.errors import (
    InvalidReferenceError,
    InvalidRequestError,
    ReferenceNotFoundError,
)


class StoringSuite(ArchiveSuiteBase):
    def test_objects_are_read_whole_and_in_part(self, storage: Storage) -> None:
        self.put(storage, "blobs/aa/1", b"0123456789")
        assert storage.read("blobs/aa/1") == b"0123456789"
        assert storage.read("blobs/aa/1", 3) == b"3456789"
        assert storage.read("blobs/aa/1", 3, 5) == b"34"
        assert storage.read("blobs/aa/1", 8, 50) == b"89"
        assert storage.read("blobs/aa/1", 4, 4) == b""
        info = storage.info("blobs/aa/1")
        assert info is not None
        assert info.size == 10
        assert abs(info.modified - datetime.now(UTC).timestamp()) < 3600

    def test_what_is_missing_is_missing(self, storage: Storage) -> None:
        with pytest.raises(FileNotFoundError):
            storage.read("blobs/aa/1")
        assert storage.info("blobs/aa/1") is None
        assert list(storage.list("blobs/")) == []
        storage.touch("blobs/aa/1")
        with storage.removing():
            storage.delete(["blobs/aa/1"])

    def test_an_object_replaces_one_of_its_name_and_says_so(self, storage: Storage) -> None:
        assert storage.write([[NewObject("blobs/aa/1", b"old")]]) == [True]
        assert storage.write([[NewObject("blobs/aa/1", b"newer")]]) == [False]
        assert storage.read("blobs/aa/1") == b"newer"

    def test_groups_shareobjects_of_one_name(self, storage: Storage) -> None:
        shared = NewObject("blobs/aa/1", b"shared")
        groups = [[shared, NewObject(f"sessions/s/{number}", b"own")] for number in range(3)]
        assert storage.write(groups) == [True, True, True]
        assert sorted(storage.list("sessions/s/")) == ["sessions/s/0", "sessions/s/1", "sessions/s/2"]
        assert storage.read("blobs/aa/1") == b"shared"
        assert list(storage.list(TEMPORARY)) == []

    def test_listing_takes_prefixes_that_end_within_a_name(self, storage: Storage) -> None:
        names = ["sessions/s/aa.1", "sessions/s/aa.2", "sessions/s/ab.1", "sessions/sa/aa.1"]
        storage.write([[NewObject(name, b"x")] for name in names])
        assert sorted(storage.list("sessions/s/aa.")) == names[:2]
        assert sorted(storage.list("sessions/s/")) == names[:3]
        assert sorted(storage.list("sessions/")) == names
        with storage.removing():
            storage.delete(names[:3])
        assert sorted(storage.list("sessions/")) == names[3:]

    @pytest.mark.parametrize(
        "output",
        ["", "text", "lone \ud800", "\ud83d\ude00", "a\r\nb\x00c", LONG, [], BLOCKS, [{"type": "text", "text": LONG}]],
    )
    def test_what_was_stored_is_read_back_equal(self, archive: Archive, output: Any) -> None:
        stored = archive.store(ANNA, entry(output))
        assert archive.original(stored.reference, ANNA) == output
        assert archive.original(stored.reference, ANNA, call_id="call_1", claim=stored.claim) == output
        archive.confirm(stored.reference, ANNA, stored.claim)
        assert archive.verify().damages == ()

    def test_the_keys_of_blocks_keep_their_order(self, archive: Archive) -> None:
        stored = archive.store(ANNA, entry(BLOCKS))
        restored = archive.original(stored.reference, ANNA)
        assert [list(block) for block in restored if isinstance(block, dict)] == [list(block) for block in BLOCKS]

    def test_storing_again_is_harmless_and_says_that_it_was_there(self, archive: Archive) -> None:
        first, second = archive.store(ANNA, entry()), archive.store(ANNA, entry())
        assert (first.is_new_claim, first.is_new_text) == (True, True)
        assert (second.is_new_claim, second.is_new_text) == (False, False)
        assert (second.reference, second.claim) == (first.reference, first.claim)
        assert len(archive.entries(ANNA).envelopes) == 1

    def test_the_date_is_that_of_the_first_time(self, storage: Storage) -> None:
        start = datetime(2026, 1, 1, tzinfo=UTC)
        Archive(storage, clock=lambda: start).store(ANNA, entry())
        Archive(storage, clock=lambda: start + timedelta(days=1)).store(ANNA, entry())
        (envelope,) = Archive(storage).entries(ANNA).envelopes
        assert envelope.created_at == start

    def test_equal_texts_are_kept_once_and_every_call_has_its_envelope(
        self, archive: Archive, storage: Storage
    ) -> None:
        entries = [entry(call_id=f"call_{number}") for number in range(20)]
        stored = archive.store_many(ANNA, [*entries, *entries, entry(call_id="last")])
        assert all(isinstance(one, Stored) for one in stored)
        assert [one.is_new_claim for one in stored if isinstance(one, Stored)] == [True] * 20 + [False] * 20 + [True]
        assert len(list(storage.list("blobs/"))) == 1
        assert len(archive.entries(ANNA).envelopes) == 21

    def test_a_call_id_that_is_used_again_loses_nothing(self, archive: Archive) -> None:
        outputs: list[Any] = [
            "one",
            "two",
            "one\n",
            [{"type": "text", "text": "one"}],
            [{"type": "text", "text": "one", "id": 1}],
        ]
        stored = [archive.store(ANNA, entry(output)) for output in outputs]
        assert [archive.original(one.reference, ANNA, claim=one.claim) for one in stored] == outputs
        assert archive.original(stored[0].reference, ANNA) == "one", "the first of three with this text"

    def test_stat_tells_what_is_known(self, archive: Archive) -> None:
        stored = archive.store(ANNA, entry("grün", call_id="call_7", tool="grep"))
        (envelope,) = archive.stat(stored.reference, ANNA).envelopes
        assert (envelope.session, envelope.tool, envelope.call_id) == (ANNA, "grep", "call_7")
        assert (envelope.byte_count, envelope.characters, envelope.format) == (5, 4, "text")
        assert stored.reference.endswith(envelope.sha256)

    def test_one_bad_entry_spoils_only_itself(self, archive: Archive) -> None:
        outcomes = archive.store_many(ANNA, [entry("a"), entry([{"type": "image"}]), entry("b")])
        assert [isinstance(outcome, Stored) for outcome in outcomes] == [True, False, True]
        assert isinstance(outcomes[1], InvalidRequestError)

    def test_sessions_are_listed_and_found_by_reference(self, archive: Archive) -> None:
        stored = archive.store(ANNA, entry())
        archive.store(BERT, entry())
        assert {record.session for record in archive.sessions().sessions} == {ANNA, BERT}
        assert archive.session_of(stored.reference) == ANNA
        with pytest.raises(ReferenceNotFoundError):
            archive.session_of(f"archive/{'0' * 32}/{'0' * 64}")

    def test_pieces_joined_give_the_original(self, archive: Archive) -> None:
        reference = archive.store(ANNA, entry(LONG)).reference
        pieces: list[str] = []
        offset: int | None = 0
        while offset is not None:
            piece = archive.read(reference, ANNA, offset)
            assert len(piece.text) <= 8192
            assert piece.total_chars == len(LONG)
            assert piece.complete == (piece.next_offset is None)
            pieces.append(piece.text)
            offset = piece.next_offset
        assert "".join(pieces) == LONG

    def test_a_piece_of_a_long_text_is_read_without_the_rest(self, storage: Storage, archive: Archive) -> None:
        reference = archive.store(ANNA, entry("0123456789abcde\n" * 250_000)).reference
        counting = CountingReads(storage)
        assert Archive(counting).read(reference, ANNA, 2_000_000, 16).text == "0123456789abcde\n"
        assert counting.bytes_read < 200_000

    def test_a_reference_opens_for_its_own_session_only(self, archive: Archive) -> None:
        stored = archive.store(ANNA, entry())
        for stranger in (BERT, Session("travel"), Session("other", owner="anna"), Session("annatravel")):
            with pytest.raises(ReferenceNotFoundError):
                archive.read(stored.reference, stranger)
            with pytest.raises(ReferenceNotFoundError):
                archive.original(stored.reference, stranger, claim=stored.claim)
            with pytest.raises(ReferenceNotFoundError):
                archive.stat(stored.reference, stranger)

    def test_to_know_a_text_of_another_session_opens_nothing(self, archive: Archive) -> None:
        digest = parse_reference(archive.store(ANNA, entry()).reference).sha256
        with pytest.raises(ReferenceNotFoundError):
            archive.read(f"archive/{BERT.id}/{digest}", BERT)

    def test_what_is_no_reference_is_refused(self, archive: Archive) -> None:
        for call in (archive.read, archive.original, archive.stat, archive.confirm):
            with pytest.raises(InvalidReferenceError):
                call("archive/../../etc/passwd", ANNA)
