"""How many files are written at once: all of them under temporary names first, then renamed in a chosen order."""

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from uuid import uuid4

from reme_compact.archive.folders import open_folder, translated, write_new
from reme_compact.archive.storage import NewObject
from reme_compact.contract.errors import ArchiveError

_Failure = ArchiveError | None


class GroupWriting:
    """One call of `FilesystemStorage.write`: temporary files, then their renaming, step by step along the groups."""

    def __init__(self, root: int, temporary: int, threads: int) -> None:
        self._root = root
        self._temporary = temporary
        self._threads = threads
        self._waiting: dict[str, str] = {}
        self._outcomes: dict[str, _Failure] = {}
        self._ends: set[str] = set()
        self._new: set[str] = set()

    def prepare(self, objects: Sequence[NewObject]) -> None:
        """Write and sync all objects under temporary names."""
        data = {new.name: new.data for new in objects}
        self._waiting = {name: uuid4().hex for name in data}

        def write_one(name: str) -> _Failure:
            try:
                write_new(self._temporary, self._waiting[name], data[name])
            except OSError as error:
                return translated(error)
            return None

        failures = self._for_each(write_one, list(data))
        self._outcomes = {name: failure for name, failure in zip(data, failures, strict=True) if failure is not None}

    def publish(self, groups: Sequence[Sequence[NewObject]]) -> list[ArchiveError | bool]:
        """Rename the first objects of all groups, then the second ones of those groups that still stand, and so on."""
        failures: list[_Failure] = [None for _ in groups]
        self._ends = {group[-1].name for group in groups if group}
        for step in range(max(map(len, groups), default=0)):
            standing = {
                number: group[step].name
                for number, group in enumerate(groups)
                if step < len(group) and failures[number] is None
            }
            self._rename(dict.fromkeys(name for name in standing.values() if name not in self._outcomes))
            for number, name in standing.items():
                failures[number] = self._outcomes[name]
        return [
            failure if failure is not None else bool(group) and group[-1].name in self._new
            for group, failure in zip(groups, failures, strict=True)
        ]

    def remove_rest(self) -> None:
        """Remove temporary files that were not renamed."""
        for temporary_name in self._waiting.values():
            with suppress(OSError):
                os.unlink(temporary_name, dir_fd=self._temporary)

    def _rename(self, names: Iterable[str]) -> None:
        folders = by_folder(names)

        def rename_into(path: str) -> _Failure:
            try:
                with open_folder(self._root, path, create=True) as folder:
                    for last in folders[path]:
                        # What stands in the way of one object is nothing to the others.
                        self._outcomes[f"{path}/{last}"] = self._rename_one(folder, last, f"{path}/{last}")
                    os.fsync(folder)
            except OSError as error:
                return translated(error)
            return None

        for path, failure in zip(folders, self._for_each(rename_into, list(folders)), strict=True):
            if failure is not None:
                self._outcomes.update({f"{path}/{last}": failure for last in folders[path]})

    def _rename_one(self, folder: int, last: str, name: str) -> _Failure:
        temporary_name = self._waiting[name]
        if name in self._ends:
            # A link is refused where a name exists, and so tells exactly one of several writers that it was first.
            with suppress(OSError):
                os.link(temporary_name, last, src_dir_fd=self._temporary, dst_dir_fd=folder, follow_symlinks=False)
                self._new.add(name)
                return None
        try:
            os.rename(temporary_name, last, src_dir_fd=self._temporary, dst_dir_fd=folder)
        except OSError as error:
            return translated(error)
        del self._waiting[name]
        return None

    def _for_each(self, work: Callable[[str], _Failure], names: Sequence[str]) -> list[_Failure]:
        threads = min(self._threads, len(names))
        if threads < 2:
            return [work(name) for name in names]
        failures: list[_Failure] = [None for _ in names]

        def work_on_share(share: range) -> None:
            for number in share:
                failures[number] = work(names[number])

        with ThreadPoolExecutor(threads, "archive") as pool:
            list(pool.map(work_on_share, [range(first, len(names), threads) for first in range(threads)]))
        return failures


def by_folder(names: Iterable[str]) -> dict[str, list[str]]:
    """Group names by what stands before their last slash, and return what stands after it."""
    folders: defaultdict[str, list[str]] = defaultdict(list)
    for name in names:
        path, _, last = name.rpartition("/")
        folders[path].append(last)
    return dict(folders)
