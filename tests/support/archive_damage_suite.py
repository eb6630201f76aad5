"""Conformance tests: what is damaged is an error, and never content."""

from typing import Any

import pytest
from archive_base import ANNA, BERT, BLOCKS, LONG, ArchiveSuiteBase, entry, flipped

from reme_compact.archive.archive import Archive
from reme_compact.archive.envelopes import Listing
from reme_compact.archive.names import envelope_name, index_name, record_name, text_name
from reme_compact.archive.reference import parse_reference
from reme_compact.archive.storage import Storage
from reme_compact.contract.errors import (
    ArchiveDamagedError,
)


class DamageSuite(ArchiveSuiteBase):
    @pytest.mark.parametrize("output", ["short", LONG, BLOCKS], ids=["short", "long", "blocks"])
    def test_a_flipped_bit_in_any_object_is_an_error_and_never_content(
        self, archive: Archive, storage: Storage, output: Any
    ) -> None:
        stored = archive.store(ANNA, entry(output))
        for name in self.objects_of(storage, stored):
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
        for name in self.objects_of(storage, stored):
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
