"""An archive in a directory on a disk that is full, or broken."""

import errno
import os
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from archive_base import ANNA, LONG, entry

from reme_compact.archive.archive import Archive
from reme_compact.archive.filesystem import FilesystemStorage
from reme_compact.archive.storing import Stored
from reme_compact.contract.errors import (
    ArchiveUnavailableError,
)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "archive"


@pytest.fixture
def archive(directory: Path) -> Archive:
    return Archive(FilesystemStorage(directory))


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
    real = getattr(os, call)

    def failing(*arguments: Any, **options: Any) -> Any:
        creates = call != "open" or bool(arguments[1] & os.O_CREAT)
        if creates:
            raise OSError(cause, "disk trouble")
        return real(*arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(os, call, failing)
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
