"""What every place for an archive must do: conformance tests over a `Storage`, mostly seen through `Archive`."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from reme_compact.archive.archive import Archive
from reme_compact.archive.envelopes import Listing
from reme_compact.archive.names import TEMPORARY, envelope_name, index_name, record_name, text_name
from reme_compact.archive.reference import Session, parse_reference
from reme_compact.archive.retention import ABORTED, DELETED, EMPTY_SESSION, UNCLAIMED, UNFINISHED
from reme_compact.archive.storage import NewObject, Storage
from reme_compact.archive.storing import NewEntry, Stored
from reme_compact.contract.errors import (
    ArchiveDamagedError,
    InvalidReferenceError,
    InvalidRequestError,
    ReferenceNotFoundError,
)

ANNA = Session("travel", owner="anna")
BERT = Session("travel", owner="bert")
LONG = "".join(f"line {number}: grün 👩‍👩‍👧 \r\n" for number in range(9_000))
BLOCKS: list[dict[str, Any]] = [
    {"type": "text", "text": "one\n", "id": "b1", "meta": {"n": [1, 2.5, None, True]}},
    {"id": "b2", "text": "", "type": "text"},
    {"type": "text", "text": "two \ud83d\ude00 apart, 😀 together"},
]


def entry(output: Any = "the original", call_id: str = "call_1", tool: str = "read_file") -> NewEntry:
    return NewEntry(call_id, tool, output)


def flipped(data: bytes, at: int) -> bytes:
    """Return data with one bit of one byte turned over."""
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


class ArchiveSuite:
    """A subclass says where the archive is; `storage` is empty at the beginning of every test."""

    def make_storage(self) -> Storage:
        """Return the place; called again within one test, the same one."""
        raise NotImplementedError

    @pytest.fixture
    def storage(self) -> Iterator[Storage]:
        yield self.make_storage()

    @pytest.fixture
    def archive(self, storage: Storage) -> Archive:
        return Archive(storage)

    def put(self, storage: Storage, name: str, data: bytes) -> None:
        (outcome,) = storage.write([[NewObject(name, data)]])
        assert isinstance(outcome, bool)

    # --- the place itself

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

    def test_groups_share_objects_of_one_name(self, storage: Storage) -> None:
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

    # --- storing and reading back

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

    # --- pieces

    def test_pieces_joined_give_the_original(self, archive: Archive) -> None:
        reference = archive.store(ANNA, entry(LONG)).reference
        pieces, offset = [], 0
        while offset is not None:
            piece = archive.read(reference, ANNA, offset)
            assert len(piece.text) <= 8192
            assert piece.total_chars == len(LONG)
            assert piece.complete == (piece.next_offset is None)
            pieces.append(piece.text)
            offset = piece.next_offset  # type: ignore[assignment] # ends the loop
        assert "".join(pieces) == LONG

    def test_a_piece_of_a_long_text_is_read_without_the_rest(self, storage: Storage, archive: Archive) -> None:
        reference = archive.store(ANNA, entry("0123456789abcde\n" * 250_000)).reference
        counting = _CountingReads(storage)
        assert Archive(counting).read(reference, ANNA, 2_000_000, 16).text == "0123456789abcde\n"
        assert counting.bytes_read < 200_000

    # --- whose it is

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

    # --- damage

    @pytest.mark.parametrize("output", ["short", LONG, BLOCKS], ids=["short", "long", "blocks"])
    def test_a_flipped_bit_in_any_object_is_an_error_and_never_content(
        self, archive: Archive, storage: Storage, output: Any
    ) -> None:
        stored = archive.store(ANNA, entry(output))
        for name in self._objects_of(storage, stored):
            whole = storage.read(name)
            for at in {0, 1, len(whole) // 2, len(whole) - 2, len(whole) - 1}:
                self.put(storage, name, flipped(whole, at))
                with pytest.raises(ArchiveDamagedError):
                    archive.original(stored.reference, ANNA)
                with pytest.raises(ArchiveDamagedError):
                    archive.confirm(stored.reference, ANNA, stored.claim)
                assert [damage.name for damage in archive.verify().damages] != []
            for cut in (whole[:-1], b"", whole + b"x", whole * 2):
                self.put(storage, name, cut)
                with pytest.raises(ArchiveDamagedError):
                    archive.original(stored.reference, ANNA)
            self.put(storage, name, whole)
        assert archive.original(stored.reference, ANNA) == output

    def test_a_flipped_bit_spoils_the_pieces_that_hold_it_and_no_others(
        self, archive: Archive, storage: Storage
    ) -> None:
        stored = archive.store(ANNA, entry(LONG))
        name = text_name(parse_reference(stored.reference).sha256)
        self.put(storage, name, flipped(storage.read(name), 200_000))
        assert archive.read(stored.reference, ANNA, 0).text == LONG[: len(archive.read(stored.reference, ANNA, 0).text)]
        damaged_at = len(LONG.encode()[:200_000].decode(errors="ignore"))
        with pytest.raises(ArchiveDamagedError):
            archive.read(stored.reference, ANNA, damaged_at - 100)

    def test_a_damaged_record_is_named_and_mended_by_the_next_store(self, archive: Archive, storage: Storage) -> None:
        stored = archive.store(ANNA, entry())
        name = record_name(ANNA.id)
        self.put(storage, name, flipped(storage.read(name), 30))
        with pytest.raises(ArchiveDamagedError):
            archive.session_of(stored.reference)
        assert archive.sessions().damaged == (name,)
        assert [damage.name for damage in archive.verify(ANNA).damages] == [name]
        archive.store(ANNA, entry())
        assert archive.session_of(stored.reference) == ANNA

    def test_what_is_damaged_or_missing_is_written_anew(self, archive: Archive, storage: Storage) -> None:
        stored = archive.store(ANNA, entry(LONG))
        for name in self._objects_of(storage, stored):
            self.put(storage, name, flipped(storage.read(name), 5))
            archive.store(ANNA, entry(LONG))
            assert archive.original(stored.reference, ANNA) == LONG
            with storage.removing():
                storage.delete([name])
            archive.store(ANNA, entry(LONG))
            assert archive.original(stored.reference, ANNA) == LONG

    def test_a_missing_text_or_index_is_damage(self, archive: Archive, storage: Storage) -> None:
        stored = archive.store(ANNA, entry(LONG))
        digest = parse_reference(stored.reference).sha256
        for name in (text_name(digest), index_name(digest)):
            whole = storage.read(name)
            with storage.removing():
                storage.delete([name])
            with pytest.raises(ArchiveDamagedError):
                archive.read(stored.reference, ANNA)
            self.put(storage, name, whole)

    def test_an_envelope_in_the_wrong_place_is_refused(self, archive: Archive, storage: Storage) -> None:
        own, other = archive.store(ANNA, entry("mine")), archive.store(BERT, entry("secret"))
        secret = storage.read(envelope_name(parse_reference(other.reference), other.claim))
        places = [
            envelope_name(parse_reference(own.reference), own.claim),
            f"sessions/{ANNA.id}/{parse_reference(other.reference).sha256}.{other.claim}.json",
        ]
        for place in places:
            self.put(storage, place, secret)
        for reference in (own.reference, f"archive/{ANNA.id}/{parse_reference(other.reference).sha256}"):
            with pytest.raises(ArchiveDamagedError):
                archive.read(reference, ANNA)
        assert len(archive.entries(ANNA).damaged) == 2

    def test_one_whole_envelope_is_enough(self, archive: Archive, storage: Storage) -> None:
        first, second = archive.store(ANNA, entry(call_id="1")), archive.store(ANNA, entry(call_id="2"))
        self.put(storage, envelope_name(parse_reference(first.reference), first.claim), b"{}")
        assert archive.read(second.reference, ANNA).text == "the original"
        listing: Listing = archive.stat(second.reference, ANNA)
        assert (len(listing.envelopes), len(listing.damaged)) == (1, 1)

    def test_verify_names_what_the_archive_did_not_write(self, archive: Archive, storage: Storage) -> None:
        archive.store(ANNA, entry())
        self.put(storage, f"sessions/{ANNA.id}/notes.txt", b"?")
        assert [damage.name for damage in archive.verify().damages] == [f"sessions/{ANNA.id}/notes.txt"]
        assert archive.verify(BERT).damages == ()

    # --- removing

    def test_gc_removes_only_what_no_session_claims(self, archive: Archive, storage: Storage) -> None:
        kept = archive.store(ANNA, entry(LONG))
        lost = archive.store(ANNA, entry("lost"))
        empty = Session("empty")
        emptied = archive.store(empty, entry("emptied"))
        self.put(storage, f"{TEMPORARY}left", b"half")
        with storage.removing():
            for one in (lost, emptied):
                storage.delete([envelope_name(parse_reference(one.reference), one.claim)])
        looked = archive.gc(dry_run=True, older_than_seconds=-0.0)
        assert looked.dry_run
        expected = {
            text_name(parse_reference(lost.reference).sha256): UNCLAIMED,
            text_name(parse_reference(emptied.reference).sha256): UNCLAIMED,
            record_name(empty.id): EMPTY_SESSION,
            f"{TEMPORARY}left": UNFINISHED,
        }
        assert {removal.name: removal.reason for removal in looked.removed} == expected
        later = Archive(storage, clock=lambda: datetime.now(UTC) + timedelta(days=2))
        done = later.gc()
        assert done.removed == looked.removed
        assert done.bytes == looked.bytes > 0
        assert archive.original(kept.reference, ANNA) == LONG
        assert later.gc().removed == ()
        assert archive.verify().damages == ()

    def test_gc_lets_young_objects_be(self, archive: Archive, storage: Storage) -> None:
        self.put(storage, f"{TEMPORARY}writing", b"half")
        found = archive.gc(older_than_seconds=3600)
        assert (found.removed, found.too_young) == ((), 1)
        assert storage.read(f"{TEMPORARY}writing") == b"half"

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

    # --- what happens meanwhile

    def test_gc_looks_again_once_nobody_adds(self, storage: Storage) -> None:
        archive = Archive(storage)
        lost = archive.store(ANNA, entry())
        with storage.removing():
            storage.delete([envelope_name(parse_reference(lost.reference), lost.claim)])
        meanwhile = _Interrupted(storage, before="removing", does=lambda: archive.store(BERT, entry()))
        removed = Archive(meanwhile, clock=lambda: datetime.now(UTC) + timedelta(days=2)).gc().removed
        assert [removal.name for removal in removed] == [record_name(ANNA.id)]
        assert archive.read(f"archive/{BERT.id}/{parse_reference(lost.reference).sha256}", BERT).text == "the original"

    def test_of_two_who_store_the_same_at_once_the_one_that_gives_up_takes_nothing_away(self, storage: Storage) -> None:
        archive = Archive(storage)
        first: list[Stored] = []
        meanwhile = _Interrupted(storage, before="write", does=lambda: first.append(archive.store(ANNA, entry())))
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
            meanwhile = _Interrupted(storage, before="read", of=index, does=lambda: archive.delete(ANNA))
            with pytest.raises(ReferenceNotFoundError):
                getattr(Archive(meanwhile), call)(stored.reference, ANNA)

    def _objects_of(self, storage: Storage, stored: Stored) -> list[str]:
        reference = parse_reference(stored.reference)
        names = [text_name(reference.sha256), index_name(reference.sha256), envelope_name(reference, stored.claim)]
        return [name for name in names if storage.info(name) is not None]


class _CountingReads:
    """A place that counts the bytes it hands out."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self.bytes_read = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)

    def read(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        data = self._storage.read(name, start, end)
        self.bytes_read += len(data)
        return data


class _Interrupted:
    """A place in which something happens once, just before a method is called (for a name, if one is given)."""

    def __init__(self, storage: Storage, *, before: str, does: Callable[[], object], of: str | None = None) -> None:
        self._storage = storage
        self._before = before
        self._of = of
        self._does: Callable[[], object] | None = does

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._storage, name)
        if name != self._before:
            return method

        def interrupted(*arguments: Any) -> Any:
            if self._does is not None and (self._of is None or arguments[0] == self._of):
                does, self._does = self._does, None
                does()
            return method(*arguments)

        return interrupted
