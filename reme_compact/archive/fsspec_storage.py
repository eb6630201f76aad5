"""An archive at any URL that fsspec knows: `memory://`, `s3://`, `gs://` and others."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from datetime import UTC, datetime
from threading import Lock
from typing import Any
from uuid import uuid4

from reme_compact.archive.names import TEMPORARY
from reme_compact.archive.storage import NewObject, ObjectInfo
from reme_compact.archive.thread_locks import SharedLock
from reme_compact.contract.errors import (
    ArchiveError,
    ArchiveUnavailableError,
    ConfigurationError,
    MissingExtraError,
)

_ONE_PROCESS = "memory"
_UPLOADS_ARE_ATOMIC = frozenset(
    {_ONE_PROCESS, "s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl", "oci", "oss", "r2"}
)
_MODIFICATION_KEYS = ("LastModified", "last_modified", "mtime", "modified", "updated", "created")

_locks: dict[str, SharedLock] = {}
_locks_guard = Lock()


class FsspecStorage:
    """Objects below a URL.

    Where an upload is not atomic, an object is written under a temporary name and moved. Writers and removers
    exclude each other within one process only; other processes are protected by the age that `gc` waits for.

    Args:
        url: where the archive is.
        options: what the file system of that URL takes, such as credentials; never shown.
        threads: how many requests are made at once.

    Raises:
        MissingExtraError: fsspec, or the package for this kind of URL, is not installed.
        ConfigurationError: the URL means nothing to fsspec, or is a directory of this machine.

    """

    def __init__(self, url: str, options: Mapping[str, Any] | None = None, *, threads: int = 8) -> None:
        self._files, self._root = _file_system(url, options or {})
        protocols = {self._files.protocol} if isinstance(self._files.protocol, str) else set(self._files.protocol)
        if protocols & {"file", "local"}:
            raise ConfigurationError("A directory of this machine is an archive without fsspec: name its path alone.")
        self._threads = threads
        self._atomic = bool(protocols & _UPLOADS_ARE_ATOMIC)
        self.excludes_others = _ONE_PROCESS in protocols
        place = f"{min(protocols)}:{self._root}"
        with _locks_guard:
            self._lock = _locks.setdefault(place, SharedLock())

    def write(self, groups: Sequence[Sequence[NewObject]]) -> list[ArchiveError | bool]:
        """Write groups of objects, several groups at once; see `Storage.write`."""
        if len(groups) < 2:
            return [self._write_group(group) for group in groups]
        with ThreadPoolExecutor(min(self._threads, len(groups)), "archive") as pool:
            return list(pool.map(self._write_group, groups))

    def read(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        """Return bytes of an object; see `Storage.read`."""
        if end is not None and end <= start:
            return b""
        with _translated_errors():
            return bytes(self._files.cat_file(self._path(name), start=start or None, end=end))

    def info(self, name: str) -> ObjectInfo | None:
        """Describe an object; see `Storage.info`."""
        try:
            with _translated_errors():
                self._files.invalidate_cache(self._path(name))
                found = self._files.info(self._path(name))
                if found.get("type") == "directory":
                    return None
                return ObjectInfo(int(found.get("size") or 0), self._modified(name, found))
        except FileNotFoundError:
            return None

    def touch(self, name: str) -> None:
        """Write an object again as it is, since most such places cannot set a time."""
        with suppress(FileNotFoundError):
            data = self.read(name)
            with _translated_errors():
                self._write_one(NewObject(name, data))

    def list(self, prefix: str) -> Iterator[str]:
        """Yield names."""
        folder = self._path(prefix.rpartition("/")[0])
        with _translated_errors():
            self._files.invalidate_cache(folder)
            try:
                paths = self._files.find(folder)
            except FileNotFoundError:
                return
        for path in paths:
            name = self._files._strip_protocol(path)[len(self._path("")) :]
            if name.startswith(prefix):
                yield name

    def delete(self, names: Sequence[str]) -> None:
        """Remove objects."""
        for name in names:
            with suppress(FileNotFoundError), _translated_errors():
                self._files.rm_file(self._path(name))

    def adding(self) -> AbstractContextManager[None]:
        """Hold off removals by this process."""
        return self._lock.shared()

    def removing(self) -> AbstractContextManager[None]:
        """Hold off additions by this process."""
        return self._lock.exclusive()

    def _write_group(self, group: Sequence[NewObject]) -> ArchiveError | bool:
        is_new = False
        try:
            for new in group:
                # Held for all threads of the process, so that one of them alone finds a name missing.
                with self._lock.one_at_a_time if self.excludes_others else nullcontext(), _translated_errors():
                    is_new = self.excludes_others and not self._files.exists(self._path(new.name))
                    self._write_one(new)
        except FileNotFoundError:
            return ArchiveUnavailableError("The place of the archive does not exist.")
        except ArchiveError as error:
            return error
        return is_new

    def _write_one(self, new: NewObject) -> None:
        path = self._path(new.name)
        if self._atomic:
            self._files.pipe_file(path, new.data)
            return
        temporary = self._path(f"{TEMPORARY}{uuid4().hex}")
        for needed in (temporary, path):
            self._files.makedirs(needed.rpartition("/")[0], exist_ok=True)
        self._files.pipe_file(temporary, new.data)
        self._files.mv(temporary, path)

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    def _modified(self, name: str, found: Mapping[str, Any]) -> float:
        value = next((found[key] for key in _MODIFICATION_KEYS if found.get(key) is not None), None)
        if value is None:
            value = self._files.modified(self._path(name))
        if isinstance(value, str):
            value = datetime.fromisoformat(value)
        if isinstance(value, datetime):
            return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
        return float(value)


def _file_system(url: str, options: Mapping[str, Any]) -> tuple[Any, str]:
    try:
        import fsspec  # noqa: PLC0415 - an extra
    except ModuleNotFoundError:
        raise MissingExtraError("An archive at a URL", "archive") from None
    try:
        files, root = fsspec.url_to_fs(url, **options)
    except ImportError:
        scheme = url.partition("://")[0]
        raise ConfigurationError(
            f"An archive at {scheme}:// needs the package that teaches fsspec this kind of URL, such as s3fs for "
            "s3:// or gcsfs for gs://. Install it beside reme-compact."
        ) from None
    except Exception as error:  # noqa: BLE001 - each kind of URL raises its own errors
        raise ConfigurationError(
            f"fsspec cannot open the URL of the archive or its options: {type(error).__name__}."
        ) from None
    return files, str(root).rstrip("/")


@contextmanager
def _translated_errors() -> Iterator[None]:
    """Turn whatever a file system raises into the archive's error; its text could hold a credential."""
    try:
        yield
    except (FileNotFoundError, ArchiveError):
        raise
    except Exception as error:
        raise ArchiveUnavailableError(f"The place of the archive cannot be used: {type(error).__name__}.") from error
