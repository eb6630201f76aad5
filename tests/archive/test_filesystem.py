"""An archive in a directory: rights and links."""

import os
import stat
from pathlib import Path

import pytest
from archive_base import ANNA, LONG, entry
from archive_suite import ArchiveSuite

from reme_compact.archive.archive import Archive
from reme_compact.archive.filesystem import FilesystemStorage
from reme_compact.archive.names import envelope_name, index_name, record_name, text_name
from reme_compact.archive.reference import parse_reference
from reme_compact.archive.storage import Storage
from reme_compact.archive.storing import Stored
from reme_compact.contract.errors import (
    ArchiveDamagedError,
    ConfigurationError,
    ReferenceNotFoundError,
)

SECRET = "a secret outside of the archive"


class TestFilesystem(ArchiveSuite):
    directory: Path

    @pytest.fixture(autouse=True)
    def fresh_directory(self, tmp_path: Path) -> None:
        self.directory = tmp_path / "deep" / "archive"

    def make_storage(self) -> Storage:
        return FilesystemStorage(self.directory)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "archive"


@pytest.fixture
def archive(directory: Path) -> Archive:
    return Archive(FilesystemStorage(directory))


def text_file(directory: Path, stored: Stored) -> Path:
    return directory / text_name(parse_reference(stored.reference).sha256)


def test_files_and_folders_are_for_their_owner_only(tmp_path: Path) -> None:
    directory = tmp_path / "made" / "archive"
    mask = os.umask(0)
    try:
        archive = Archive(FilesystemStorage(directory))
        archive.store(ANNA, entry(LONG))
        archive.gc(older_than_seconds=0)
    finally:
        os.umask(mask)
    found = [directory.parent, directory, *directory.rglob("*")]
    assert {stat.S_IMODE(path.stat().st_mode) for path in found if path.is_dir()} == {0o700}
    assert {stat.S_IMODE(path.stat().st_mode) for path in found if path.is_file()} == {0o600}


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o722])
def test_a_directory_that_others_can_write_to_is_refused(directory: Path, mode: int) -> None:
    directory.mkdir()
    directory.chmod(mode)
    with pytest.raises(ConfigurationError, match="chmod"):
        FilesystemStorage(directory)


def test_rights_that_are_given_away_later_are_noticed(archive: Archive, directory: Path) -> None:
    stored = archive.store(ANNA, entry())
    directory.chmod(0o777)
    with pytest.raises(ConfigurationError):
        archive.read(stored.reference, ANNA)
    (outcome,) = archive.store_many(ANNA, [entry("more")])
    assert isinstance(outcome, ConfigurationError)


def test_a_file_is_no_directory(directory: Path) -> None:
    directory.write_text("")
    with pytest.raises(ConfigurationError):
        FilesystemStorage(directory)


def test_the_directory_itself_may_be_reached_over_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    archive = Archive(FilesystemStorage(tmp_path / "link"))
    assert archive.read(archive.store(ANNA, entry()).reference, ANNA).text == "the original"


def test_looking_makes_nothing(archive: Archive, directory: Path) -> None:
    with pytest.raises(ReferenceNotFoundError):
        archive.read(f"archive/{ANNA.id}/{'0' * 64}", ANNA)
    assert archive.sessions().sessions == ()
    assert archive.verify().texts == 0
    assert archive.gc(dry_run=True).removed == ()
    assert archive.delete(ANNA, dry_run=True).removed == ()
    assert not directory.exists()


@pytest.mark.parametrize("kind", ["text", "index", "envelope", "record"])
def test_a_link_in_place_of_a_file_is_not_followed(
    archive: Archive, directory: Path, tmp_path: Path, kind: str
) -> None:
    stored = archive.store(ANNA, entry(LONG))
    reference = parse_reference(stored.reference)
    name = {
        "text": text_name(reference.sha256),
        "index": index_name(reference.sha256),
        "envelope": envelope_name(reference, stored.claim),
        "record": record_name(ANNA.id),
    }[kind]
    # Even what lies behind the link being right changes nothing.
    outside = tmp_path / "outside"
    (directory / name).rename(outside)
    (directory / name).symlink_to(outside)
    if kind == "record":
        with pytest.raises(ArchiveDamagedError):
            archive.session_of(stored.reference)
    else:
        with pytest.raises(ArchiveDamagedError):
            archive.original(stored.reference, ANNA)
    assert [damage.name for damage in archive.verify().damages] != []
    before = outside.read_bytes()
    archive.store(ANNA, entry(LONG))
    assert archive.original(stored.reference, ANNA) == LONG, "the link was replaced"
    assert outside.read_bytes() == before


@pytest.mark.parametrize("folder", ["blobs", "shard", "sessions", "session", "temporary"])
def test_a_link_in_place_of_a_folder_is_not_followed(
    archive: Archive, directory: Path, tmp_path: Path, folder: str
) -> None:
    stored = archive.store(ANNA, entry())
    reference = parse_reference(stored.reference)
    name = {"shard": f"blobs/{reference.sha256[:2]}", "session": f"sessions/{ANNA.id}"}.get(folder, folder)
    outside = tmp_path / "outside"
    (directory / name).rename(outside)
    (directory / name).symlink_to(outside, target_is_directory=True)
    before = sorted(outside.rglob("*"))
    if folder != "temporary":
        with pytest.raises(ArchiveDamagedError):
            archive.original(stored.reference, ANNA, claim=stored.claim)
    (outcome,) = archive.store_many(ANNA, [entry()])
    assert isinstance(outcome, ArchiveDamagedError)
    assert sorted(outside.rglob("*")) == before


def test_a_planted_pipe_does_not_hang_a_reader(archive: Archive, directory: Path) -> None:
    stored = archive.store(ANNA, entry())
    path = text_file(directory, stored)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(ArchiveDamagedError):
        archive.read(stored.reference, ANNA)


def test_a_planted_link_to_a_secret_is_never_content(archive: Archive, directory: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(SECRET)
    stored = archive.store(ANNA, entry())
    path = text_file(directory, stored)
    for plant in (path.symlink_to, path.hardlink_to):
        path.unlink()
        plant(tmp_path / "secret")
        with pytest.raises(ArchiveDamagedError) as caught:
            archive.read(stored.reference, ANNA)
        assert SECRET not in str(caught.value)


def test_removing_removes_links_and_not_what_they_lead_to(archive: Archive, directory: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(SECRET)
    stored = archive.store(ANNA, entry())
    path = text_file(directory, stored)
    path.unlink()
    path.symlink_to(tmp_path / "secret")
    archive.delete(ANNA)
    assert not path.is_symlink()
    assert (tmp_path / "secret").read_text() == SECRET


def test_a_deleted_session_leaves_no_folder(archive: Archive, directory: Path) -> None:
    archive.store(ANNA, entry())
    archive.delete(ANNA)
    assert list((directory / "sessions").iterdir()) == []
    assert list((directory / "blobs").iterdir()) == []


def test_a_folder_where_an_envelope_belongs_is_damage_and_keeps_nothing_else_from_being_stored(tmp_path: Path) -> None:
    archive = Archive(FilesystemStorage(tmp_path / "archive"))
    entries = [entry(f"text {number}", f"call_{number}") for number in range(20)]
    stored = archive.store_many(ANNA, entries)[3]
    assert isinstance(stored, Stored)
    name = envelope_name(parse_reference(stored.reference), stored.claim)
    envelope = tmp_path / "archive" / name
    envelope.unlink()
    envelope.mkdir()
    again = archive.store_many(ANNA, entries)
    assert [isinstance(outcome, Stored) for outcome in again] == [number != 3 for number in range(20)]
    assert [damage.name for damage in archive.verify().damages] == [name]
    with pytest.raises(ArchiveDamagedError):
        archive.read(stored.reference, ANNA)
