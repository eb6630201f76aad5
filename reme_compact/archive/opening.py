"""From what is written in a configuration to a place for an archive."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from reme_compact.archive.storage import Storage
from reme_compact.contract.errors import ConfigurationError


def storage_at(location: str, options: Mapping[str, Any] | None = None) -> Storage:
    """Return the place that a directory's path or a URL names.

    Args:
        location: a path, `file:///path`, or any URL that fsspec knows.
        options: for URLs, what their file system takes.

    Raises:
        ConfigurationError: it cannot be an archive; says why.
        MissingExtraError: an optional dependency is missing.

    """
    if not location.strip():
        raise ConfigurationError("The archive needs a directory or a URL, and none is named.")
    if "://" in location and not location.startswith("file://"):
        from reme_compact.archive.fsspec_storage import FsspecStorage  # noqa: PLC0415 - needs an extra

        return FsspecStorage(location, options)
    try:
        from reme_compact.archive.filesystem import FilesystemStorage  # noqa: PLC0415 - not on every system
    except ModuleNotFoundError:
        raise ConfigurationError("An archive in a directory needs a POSIX system; name a URL instead.") from None
    return FilesystemStorage(_local_path(location))


def _local_path(location: str) -> str:
    if not location.startswith("file://"):
        return location
    parts = urlsplit(location)
    if parts.netloc not in {"", "localhost"} or not parts.path.startswith("/"):
        raise ConfigurationError("A file:// URL of an archive names an absolute path: file:///path/to/archive")
    return unquote(parts.path)
