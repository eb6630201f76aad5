"""An archive in a directory: rights, links, full disks."""

import errno
import os
import resource
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from archive_suite import ANNA, LONG, ArchiveSuite, entry

from reme_compact.archive import folders
from reme_compact.archive.archive import Archive
from reme_compact.archive.filesystem import FilesystemStorage
from reme_compact.archive.names import envelope_name, index_name, record_name, text_name
from reme_compact.archive.reference import parse_reference
from reme_compact.archive.storage import Storage
from reme_compact.archive.storing import Stored
from reme_compact.contract.errors import (
    ArchiveDamagedError,
    ArchiveUnavailableError,
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


def test_a_file_that_may_not_grow_is_an_error_and_leaves_nothing_behind(archive: Archive, directory: Path) -> None:
    kept = archive.store(ANNA, entry("kept"))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        outcomes = archive.store_many(ANNA, [entry("small"), entry(LONG), entry("small too")])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [isinstance(outcome, Stored) for outcome in outcomes] == [True, False, True]
    assert isinstance(outcomes[1], ArchiveUnavailableError)
    assert outcomes[1].retryable
    assert list((directory / "temporary").iterdir()) == []
    assert archive.verify().damages == ()
    assert archive.read(kept.reference, ANNA).text == "kept"


@pytest.mark.parametrize("call", ["open", "write", "fsync", "rename", "mkdir"])
@pytest.mark.parametrize("cause", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_whatever_call_fails_what_was_stored_reads_back_and_nothing_partial_is_seen(
    archive: Archive, directory: Path, monkeypatch: pytest.MonkeyPatch, call: str, cause: int
) -> None:
    kept = archive.store(ANNA, entry("kept"))
    real = getattr(folders.os, call)

    def failing(*arguments: Any, **options: Any) -> Any:
        creates = call != "open" or bool(arguments[1] & os.O_CREAT)
        if creates:
            raise OSError(cause, "disk trouble")
        return real(*arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(folders.os, call, failing)
        # The first name is made by a link, so that a rename is needed only where an envelope is replaced.
        new, again = archive.store_many(ANNA, [entry("new"), entry("kept")])
    failed = [outcome for outcome in (new, again) if not isinstance(outcome, Stored)]
    assert failed
    assert all(isinstance(outcome, ArchiveUnavailableError) for outcome in failed)
    assert list((directory / "temporary").iterdir()) == []
    assert archive.verify().damages == ()
    assert archive.read(kept.reference, ANNA).text == "kept"
    archive.store(ANNA, entry("new"))


def test_without_hard_links_envelopes_are_renamed(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", refuse)
    stored = archive.store(ANNA, entry())
    assert not stored.is_new_claim, "nobody can tell, so an aborted compaction will let it be"
    assert archive.read(stored.reference, ANNA).text == "the original"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir(mode=0o700)
    command = ["mount", "-t", "tmpfs", "-o", "size=1m,mode=0700", "tmpfs", str(disk)]
    try:
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0  # noqa: S603
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("mounting a small tmpfs is not allowed here")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)  # noqa: S603, S607


def test_a_full_disk_keeps_what_fits_and_explains_the_rest(small_disk: Path) -> None:
    archive = Archive(FilesystemStorage(small_disk / "archive"))
    outputs = [f"{number} " * 20_000 for number in range(60)]
    outcomes = archive.store_many(ANNA, [entry(output, f"call_{number}") for number, output in enumerate(outputs)])
    fitting = [
        (outcome, output) for outcome, output in zip(outcomes, outputs, strict=True) if isinstance(outcome, Stored)
    ]
    failures = [outcome for outcome in outcomes if not isinstance(outcome, Stored)]
    assert fitting
    assert failures
    assert {type(failure) for failure in failures} == {ArchiveUnavailableError}
    assert "No space left" in failures[0].message
    for outcome, output in fitting:
        archive.confirm(outcome.reference, ANNA, outcome.claim)
        assert archive.original(outcome.reference, ANNA) == output
    assert archive.verify().damages == ()
    assert list((small_disk / "archive" / "temporary").iterdir()) == []
    # Removing works on a full disk, and then there is room again.
    assert archive.gc(older_than_seconds=0).bytes >= 0
    archive.delete(ANNA)
    archive.store(ANNA, entry(outputs[-1]))
