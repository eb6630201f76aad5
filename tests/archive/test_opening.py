"""Which place a configured location means."""

from pathlib import Path

import pytest

from reme_compact.archive.filesystem import FilesystemStorage
from reme_compact.archive.fsspec_storage import FsspecStorage
from reme_compact.archive.opening import storage_at
from reme_compact.contract.errors import ConfigurationError


def test_a_path_and_a_file_url_are_directories(tmp_path: Path) -> None:
    for location in (
        f"{tmp_path}/my archive",
        f"file://{tmp_path}/my%20archive",
        f"file://localhost{tmp_path}/my archive",
    ):
        storage = storage_at(location)
        assert isinstance(storage, FilesystemStorage)
        assert storage.directory == tmp_path / "my archive"


def test_other_urls_go_to_fsspec() -> None:
    assert isinstance(storage_at("memory://archive"), FsspecStorage)


@pytest.mark.parametrize("location", ["", "  ", "file://host/path", "file://relative", "nonsense://x"])
def test_what_is_neither_is_refused(location: str) -> None:
    with pytest.raises(ConfigurationError):
        storage_at(location)
