"""What the conformance tests of an archive's places build on: a place, sessions, outputs, and places that interfere."""

from collections.abc import Callable
from typing import Any

import pytest

from reme_compact.archive.archive import Archive
from reme_compact.archive.names import envelope_name, index_name, text_name
from reme_compact.archive.reference import Session, parse_reference
from reme_compact.archive.storage import NewObject, Storage
from reme_compact.archive.storing import NewEntry, Stored

ANNA = Session("travel", owner="anna")
BERT = Session("travel", owner="bert")
LONG = "".join(f"line {number}: grün 👩‍👩‍👧 \r\n" for number in range(9_000))
BLOCKS: list[dict[str, Any]] = [
    {"type": "text", "text": "one\n", "id": "b1", "meta": {"n": [1, 2.5, None, True]}},
    {"id": "b2", "text": "", "type": "text"},
    {"type": "text", "text": "two \ud83d\ude00 apart, 😀 together"},
]


def entry(output: Any = "the original", call_id: str = "call_1", tool: str = "read_file") -> NewEntry:
    return NewEntry(call_id, tool, output)


def flipped(data: bytes, at: int) -> bytes:
    """Return data with one bit of one byte turned over."""
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


class ArchiveSuiteBase:
    """A subclass says where the archive is; `storage` is empty at the beginning of every test."""

    def make_storage(self) -> Storage:
        """Return the place; called again within one test, the same one."""
        raise NotImplementedError

    @pytest.fixture
    def storage(self) -> Storage:
        return self.make_storage()

    @pytest.fixture
    def archive(self, storage: Storage) -> Archive:
        return Archive(storage)

    def put(self, storage: Storage, name: str, data: bytes) -> None:
        (outcome,) = storage.write([[NewObject(name, data)]])
        assert isinstance(outcome, bool)

    def objects_of(self, storage: Storage, stored: Stored) -> list[str]:
        reference = parse_reference(stored.reference)
        names = [text_name(reference.sha256), index_name(reference.sha256), envelope_name(reference, stored.claim)]
        return [name for name in names if storage.info(name) is not None]


class CountingReads:
    """A place that counts the bytes it hands out."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self.bytes_read = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)

    def read(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        data = self._storage.read(name, start, end)
        self.bytes_read += len(data)
        return data


class Interrupted:
    """A place in which something happens once, just before a method is called (for a name, if one is given)."""

    def __init__(self, storage: Storage, *, before: str, does: Callable[[], object], of: str | None = None) -> None:
        self._storage = storage
        self._before = before
        self._of = of
        self._does: Callable[[], object] | None = does

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._storage, name)
        if name != self._before:
            return method

        def interrupted(*arguments: Any) -> Any:
            if self._does is not None and (self._of is None or arguments[0] == self._of):
                does, self._does = self._does, None
                does()
            return method(*arguments)

        return interrupted
