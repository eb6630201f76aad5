"""An archive behind fsspec."""

import sys
from typing import Any
from uuid import uuid4

import pytest
from archive_base import ANNA, entry
from archive_suite import ArchiveSuite

from reme_compact.archive.archive import Archive
from reme_compact.archive.fsspec_storage import FsspecStorage
from reme_compact.archive.storage import NewObject, Storage
from reme_compact.contract.errors import (
    ArchiveUnavailableError,
    ConfigurationError,
    InvalidRequestError,
    MissingExtraError,
)


class TestMemory(ArchiveSuite):
    url: str

    @pytest.fixture(autouse=True)
    def fresh_url(self) -> None:
        self.url = f"memory://{uuid4().hex}/archive"

    def make_storage(self) -> Storage:
        return FsspecStorage(self.url)


class TestWithoutAtomicUploads(ArchiveSuite):
    """The same place, treated as one where an object that is being written can be seen."""

    url: str

    @pytest.fixture(autouse=True)
    def fresh_url(self) -> None:
        self.url = f"memory://{uuid4().hex}"

    def make_storage(self) -> Storage:
        storage = FsspecStorage(self.url)
        storage._atomic = False
        return storage


def shared_by_machines() -> FsspecStorage:
    storage = FsspecStorage(f"memory://{uuid4().hex}")
    storage.excludes_others = False
    return storage


def test_where_others_cannot_be_held_off_only_envelopes_are_removed_and_gc_waits() -> None:
    storage = shared_by_machines()
    archive = Archive(storage)
    stored = archive.store(ANNA, entry())
    assert archive.unclaim([stored]).removed == ()
    archive.delete(ANNA)
    assert list(storage.list("sessions/")) == []
    assert len(list(storage.list("blobs/"))) == 1
    with pytest.raises(InvalidRequestError):
        archive.gc(older_than_seconds=60)
    assert archive.gc(older_than_seconds=3600).too_young == 1


def test_without_fsspec_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(MissingExtraError, match=r"reme-compact\[archive\]"):
        FsspecStorage("memory://x")


@pytest.mark.parametrize("url", ["nonsense://x", "file:///srv/x", "/srv/x", "s3://bucket/x"])
def test_urls_that_cannot_be_an_archive_are_refused(url: str) -> None:
    if url.startswith("s3"):
        try:
            import s3fs  # type: ignore[import-not-found] # noqa: F401, PLC0415
        except ImportError:
            pass
        else:
            pytest.skip("s3fs is installed")
    with pytest.raises(ConfigurationError):
        FsspecStorage(url)


def test_errors_of_the_place_are_typed_and_tell_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    storage = FsspecStorage(f"memory://{uuid4().hex}")
    archive = Archive(storage)
    stored = archive.store(ANNA, entry("kept"))

    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("https://user:secret@host refused")

    monkeypatch.setattr(storage._files, "pipe_file", fail)
    (outcome,) = storage.write([[NewObject("blobs/aa/1", b"x")]])
    assert isinstance(outcome, ArchiveUnavailableError)
    assert "secret" not in str(outcome)
    (failure,) = archive.store_many(ANNA, [entry("other")])
    assert isinstance(failure, ArchiveUnavailableError)
    monkeypatch.setattr(storage._files, "cat_file", fail)
    with pytest.raises(ArchiveUnavailableError) as caught:
        archive.read(stored.reference, ANNA)
    assert caught.value.retryable
    assert "secret" not in caught.value.message
