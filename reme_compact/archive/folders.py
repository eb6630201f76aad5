"""Folders and files opened relative to each other, so that no symbolic link leads out of a directory."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from reme_compact.contract.errors import ArchiveDamagedError, ArchiveUnavailableError, ConfigurationError

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NO_LINK = os.O_NOFOLLOW | os.O_CLOEXEC
_ONLY_OURS = 0o700
_ONLY_OUR_FILE = 0o600
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


@contextmanager
def translated_errors() -> Iterator[None]:
    """Turn what the operating system reports into the archive's errors; what is missing stays FileNotFoundError."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise translated(error) from error


def translated(error: OSError) -> ArchiveDamagedError | ArchiveUnavailableError:
    """Return the archive's error for one of the operating system; only its cause is named, never a content."""
    if error.errno in {errno.ELOOP, errno.ENOTDIR, errno.EISDIR}:
        return ArchiveDamagedError(
            "Something in the archive's directory is a link, a file or a folder where another kind was written. "
            "Nothing behind it was read."
        )
    cause = os.strerror(error.errno) if error.errno else type(error).__name__
    return ArchiveUnavailableError(f"The archive's directory cannot be used: {cause}.")


@contextmanager
def open_root(directory: Path, *, create: bool) -> Iterator[int]:
    """Open the directory itself, which may be reached over symbolic links.

    Raises:
        FileNotFoundError: it does not exist, and is not to be created.
        ConfigurationError: others than this user can write to it.

    """
    if create:
        _make_missing(directory)
    try:
        root = os.open(directory, _FOLDER)
    except NotADirectoryError:
        raise ConfigurationError(f"The archive needs a directory, and {directory} is something else.") from None
    try:
        _check_ours(root, directory)
        yield root
    finally:
        os.close(root)


@contextmanager
def open_folder(root: int, path: str, *, create: bool = False) -> Iterator[int]:
    """Open a folder below another, `a/b`, part by part, and make what is missing if wanted."""
    folder = os.dup(root)
    try:
        for part in path.split("/"):
            try:
                inner = os.open(part, _FOLDER | _NO_LINK, dir_fd=folder)
            except FileNotFoundError:
                if not create:
                    raise
                inner = _make_folder(folder, part)
            os.close(folder)
            folder = inner
        yield folder
    finally:
        os.close(folder)


def open_to_read(folder: int, name: str) -> int:
    """Open a plain file; the caller closes it.

    Raises:
        ArchiveDamagedError: it is something else, such as a link or a pipe.

    """
    # Without O_NONBLOCK, opening a pipe would wait for somebody to write to it.
    file = os.open(name, os.O_RDONLY | os.O_NONBLOCK | _NO_LINK, dir_fd=folder)
    try:
        check_plain(os.fstat(file))
    except BaseException:
        os.close(file)
        raise
    return file


def check_plain(status: os.stat_result) -> None:
    """Refuse what is not a plain file."""
    if not stat.S_ISREG(status.st_mode):
        raise translated(OSError(errno.ELOOP, "not a plain file"))


def open_lock(root: int, name: str) -> int:
    """Open, and make if necessary, an empty file to lock; the caller closes it."""
    return os.open(name, os.O_RDWR | os.O_CREAT | _NO_LINK, _ONLY_OUR_FILE, dir_fd=root)


def write_new(folder: int, name: str, data: bytes) -> None:
    """Write a file that must not exist yet, and see to it that it outlasts a crash."""
    file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK, _ONLY_OUR_FILE, dir_fd=folder)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(file, rest) :]
        os.fsync(file)
    finally:
        os.close(file)


def _make_folder(parent: int, name: str) -> int:
    with suppress(FileExistsError):
        os.mkdir(name, _ONLY_OURS, dir_fd=parent)
    os.fsync(parent)
    return os.open(name, _FOLDER | _NO_LINK, dir_fd=parent)


def _make_missing(directory: Path) -> None:
    if directory.exists():
        return
    # mkdir(parents=True) would give parents whatever rights the process's mask leaves, even to everybody.
    _make_missing(directory.parent)
    with suppress(FileExistsError):
        directory.mkdir(mode=_ONLY_OURS)
    with suppress(PermissionError):
        parent = os.open(directory.parent, _FOLDER)
        try:
            os.fsync(parent)
        finally:
            os.close(parent)


def _check_ours(root: int, directory: Path) -> None:
    status = os.fstat(root)
    if status.st_mode & _WRITABLE_BY_OTHERS or status.st_uid not in {os.geteuid(), 0}:
        raise ConfigurationError(
            f"Other users can write to the archive's directory {directory}. Give it to the user that runs this "
            f"program, and take the others' right to write: chmod go-w '{directory}'"
        )
