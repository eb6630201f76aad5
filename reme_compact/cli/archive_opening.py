"""The archive that a command line means: the one it names, or the one of its preset."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from reme_compact.archive.archive import Archive
from reme_compact.archive.names import SESSIONS, TEMPORARY, TEXTS
from reme_compact.archive.opening import storage_at
from reme_compact.cli.preset import DEFAULT_PRESET, preset_named
from reme_compact.cli.printable import shorten
from reme_compact.cli.usage import UsageError
from reme_compact.contract.errors import ConfigurationError, MissingExtraError

ARCHIVE_KEYS: Mapping[str, str] = {
    "archive": "directory or URL of the archive; default: as the preset says, which reads the environment variable "
    "REME_ARCHIVE",
    "config": "the preset that says where the archive is, and what its URL needs; default: decision_compaction",
}
_LOCK = "lock"
"""Whatever was stored in a directory, or removed from it, this file was made first."""

_FOLDERS = frozenset(name.rstrip("/") for name in (TEXTS, SESSIONS, TEMPORARY))


@dataclass(frozen=True, slots=True)
class OpenedArchive:
    """An archive as it was named on the command line."""

    archive: Archive
    words: tuple[str, ...]

    @property
    def directory(self) -> Path | None:
        """Its directory; null: it is at a URL."""
        directory = getattr(self.archive.storage, "directory", None)
        return directory if isinstance(directory, Path) else None

    @property
    def place(self) -> str:
        """Where it is, in words to follow "the archive"; nothing of a URL, which may hold credentials."""
        return "" if self.directory is None else f" in '{shorten(self.directory, 200)}'"

    def command(self, *words: str) -> str:
        """Write a further command about the same archive, ready to be pasted."""
        return shlex.join(("reme", *words, *self.words))

    def refuse_foreign(self) -> None:
        """Refuse to tidy up a directory that is no archive: what it calls temporary may be somebody's work.

        Raises:
            ConfigurationError: it holds other things.

        """
        if self.directory is None or not self.directory.is_dir():
            return
        names = {entry.name for entry in self.directory.iterdir()}
        others = sorted(name for name in names - _FOLDERS if not name.startswith("."))
        if others and _LOCK not in names:
            raise ConfigurationError(
                f"The directory '{shorten(self.directory, 200)}' holds no archive but other things, such as "
                f"'{shorten(others[0], 80)}', so nothing of it is removed."
            )


def open_archive(given: Mapping[str, str]) -> OpenedArchive:
    """Open the archive that the keys of a command name.

    Raises:
        UsageError: there is no such preset, it has no archive, or there is none where one was named.
        ConfigurationError: the preset's file or the environment is wrong.
        MissingExtraError: the package for this kind of URL is not installed.

    """
    words = tuple(f"{key}={given[key]}" for key in ARCHIVE_KEYS if key in given)
    location = given.get("archive")
    if location is None:
        return OpenedArchive(_of_preset(given.get("config", DEFAULT_PRESET)), words)
    options = preset_named(given.get("config", DEFAULT_PRESET)).archive.options if "://" in location else None
    try:
        opened = OpenedArchive(Archive(storage_at(location, options)), words)
    except MissingExtraError:
        raise
    except ConfigurationError as error:
        raise UsageError(f"archive: {error.message}") from None
    if opened.directory is not None and not opened.directory.is_dir():
        raise UsageError(f"archive: there is no directory '{shorten(opened.directory, 200)}'.")
    return opened


def _of_preset(config: str) -> Archive:
    from reme_compact.presets.assemble import assemble_archive  # noqa: PLC0415 - slow

    archive = assemble_archive(preset_named(config))
    if archive is None:
        raise UsageError(f"archive: the preset '{shorten(config, 80)}' has no archive; say where it is.")
    return archive
