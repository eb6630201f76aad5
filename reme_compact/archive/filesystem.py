"""An archive in a directory of this machine: the default, which needs nothing else."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from reme_compact.archive.file_locks import exclusive, shared
from reme_compact.archive.filesystem_writing import GroupWriting, by_folder
from reme_compact.archive.folders import (
    check_plain,
    open_folder,
    open_root,
    open_to_read,
    translated,
    translated_errors,
)
from reme_compact.archive.names import TEMPORARY, parse_name
from reme_compact.archive.storage import NewObject, ObjectInfo
from reme_compact.contract.errors import ArchiveError, ArchiveUnavailableError, ConfigurationError

_TEMPORARY = TEMPORARY.rstrip("/")


class FilesystemStorage:
    """A directory: files 0600 in folders 0700, no symbolic link inside it is ever followed.

    A file is written under a temporary name, synced and renamed, and then its folder is synced, once for all files
    that were written to it together. Writers and removers of all processes exclude each other by `flock`.

    Args:
        directory: made with the first write; it may itself be reached over symbolic links.
        threads: how many files are written and synced at once.

    Raises:
        ConfigurationError: others than this user can write to the directory, or `~` stands for nothing here.

    """

    excludes_others = True

    def __init__(self, directory: str | Path, *, threads: int = 8) -> None:
        try:
            self.directory = Path(directory).expanduser().absolute()
        except RuntimeError:
            raise ConfigurationError(
                "The archive's directory begins with ~, and this user has no home directory: name its whole path."
            ) from None
        self._threads = threads
        # What cannot be reached now may be there when it is needed.
        with suppress(FileNotFoundError, ArchiveUnavailableError), self._root():
            pass

    def write(self, groups: Sequence[Sequence[NewObject]]) -> list[ArchiveError | bool]:
        """Write groups of objects; see `Storage.write`."""
        objects = {new.name: new for group in groups for new in group}
        try:
            with self._root(create=True) as root, open_folder(root, _TEMPORARY, create=True) as temporary:
                writing = GroupWriting(root, temporary, self._threads)
                try:
                    writing.prepare(list(objects.values()))
                    return writing.publish(groups)
                finally:
                    writing.remove_rest()
        except ArchiveError as error:
            return [error for _ in groups]
        except OSError as error:
            return [translated(error) for _ in groups]

    def read(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        """Return bytes of an object; see `Storage.read`."""
        with self._folder_of(name) as (folder, last):
            file = open_to_read(folder, last)
            try:
                size = os.fstat(file).st_size
                return _read_range(file, start, size if end is None else min(end, size))
            finally:
                os.close(file)

    def info(self, name: str) -> ObjectInfo | None:
        """Describe an object; see `Storage.info`."""
        try:
            with self._folder_of(name) as (folder, last):
                status = os.stat(last, dir_fd=folder, follow_symlinks=False)
                check_plain(status)
        except FileNotFoundError:
            return None
        return ObjectInfo(status.st_size, status.st_mtime)

    def touch(self, name: str) -> None:
        """Set an object's time to now."""
        with suppress(FileNotFoundError), self._folder_of(name) as (folder, last):
            os.utime(last, dir_fd=folder, follow_symlinks=False)

    def list(self, prefix: str) -> Iterator[str]:
        """Yield names; links are named as well, but not followed."""
        path, _, beginning = prefix.rpartition("/")
        with suppress(FileNotFoundError), self._root() as root, open_folder(root, path) as folder:
            yield from _names(folder, f"{path}/", beginning)

    def delete(self, names: Sequence[str]) -> None:
        """Remove objects, and the folders that they leave empty."""
        for path, last_names in by_folder(names).items():
            with suppress(FileNotFoundError), self._root() as root:
                with open_folder(root, path) as folder:
                    for last in last_names:
                        with suppress(FileNotFoundError):
                            os.unlink(last, dir_fd=folder)
                    os.fsync(folder)
                parent, _, last = path.rpartition("/")
                if parent:
                    with open_folder(root, parent) as folder, suppress(OSError):
                        os.rmdir(last, dir_fd=folder)

    @contextmanager
    def adding(self) -> Iterator[None]:
        """Hold off removals by all processes."""
        with self._root(create=True) as root, shared(root):
            yield

    @contextmanager
    def removing(self) -> Iterator[None]:
        """Hold off additions by all processes."""
        with self._root(create=True) as root, exclusive(root):
            yield

    @contextmanager
    def _root(self, *, create: bool = False) -> Iterator[int]:
        try:
            with translated_errors(), open_root(self.directory, create=create) as root:
                yield root
        except FileNotFoundError as error:
            if create:
                # It was removed meanwhile: no missing object, but a place that does not work.
                raise translated(error) from error
            raise

    @contextmanager
    def _folder_of(self, name: str) -> Iterator[tuple[int, str]]:
        path, _, last = name.rpartition("/")
        with self._root() as root, open_folder(root, path) as folder:
            yield folder, last


def _read_range(file: int, start: int, end: int) -> bytes:
    pieces: list[bytes] = []
    while start < end:
        piece = os.pread(file, end - start, start)
        if not piece:
            break
        pieces.append(piece)
        start += len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _names(folder: int, path: str, beginning: str) -> Iterator[str]:
    with os.scandir(folder) as entries:
        found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    for name, is_folder in found:
        if not name.startswith(beginning):
            continue
        # A folder where an object belongs is damage, and has to be seen.
        if not is_folder or parse_name(f"{path}{name}") is not None:
            yield f"{path}{name}"
            continue
        with suppress(FileNotFoundError), open_folder(folder, name) as inner:
            yield from _names(inner, f"{path}{name}/", "")
