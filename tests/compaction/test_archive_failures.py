"""What could not be stored or not be read back is kept and explained, and everything else stands."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from archive_base import flipped
from archiving import (
    SESSION,
    StorageAround,
    archived_request,
    check_recoverable,
    claimed,
    compact_with,
    decisions_of,
    everything_in,
    memory_archive,
    rules_of,
    text_object,
)
from histories import call, history, long_text, message, result, text
from models import always

from reme_compact import CompactionResult
from reme_compact.archive.archive import Archive
from reme_compact.archive.storage import NewObject, Storage
from reme_compact.contract.errors import ArchiveError, ArchiveUnavailableError

pytestmark = pytest.mark.anyio

BROKEN = text_object(long_text("c1"))
TROUBLE = "The archive's directory cannot be used: No space left on device."


class RefusesToWrite(StorageAround):
    """Does not write groups that hold a name."""

    def __init__(self, storage: Storage, is_refused: Callable[[str], bool]) -> None:
        super().__init__(storage)
        self.is_refused = is_refused

    def write(self, groups: Sequence[Sequence[NewObject]]) -> list[ArchiveError | bool]:
        accepted = [group for group in groups if not any(self.is_refused(new.name) for new in group)]
        outcomes = iter(self.inner.write(accepted))
        return [next(outcomes) if group in accepted else ArchiveUnavailableError(TROUBLE) for group in groups]


class ReadsBackWrong(StorageAround):
    """Lets something else be read of some names once they were written."""

    def __init__(self, storage: Storage, is_meant: Callable[[str], bool], read: Callable[[bytes], bytes]) -> None:
        super().__init__(storage)
        self.is_meant = is_meant
        self.written: set[str] = set()
        self.reading = read

    def write(self, groups: Sequence[Sequence[NewObject]]) -> list[ArchiveError | bool]:
        outcomes = self.inner.write(groups)
        self.written.update(new.name for group in groups for new in group if self.is_meant(new.name))
        return outcomes

    def read(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        data = self.inner.read(name, start, end)
        return self.reading(data) if name in self.written else data


class RaisesOnWrite(StorageAround):
    def write(self, groups: Sequence[Sequence[NewObject]]) -> list[ArchiveError | bool]:
        raise ArchiveUnavailableError(TROUBLE)


def unavailable(data: bytes) -> bytes:
    raise ArchiveUnavailableError("The archive's directory cannot be used: Input/output error.")


def gone(data: bytes) -> bytes:
    raise FileNotFoundError


def check_one_kept(answer: dict[str, Any], archive: Archive) -> None:
    """See that only the result `c1` was kept, that it says why, and that the others are there."""
    CompactionResult.model_validate(answer, strict=True)
    assert rules_of(answer) == {"c1": "archive_failed"}
    stats = answer["stats"]
    assert stats["protected_by"] == {"archive_failed": 1}
    assert (stats["candidates"], stats["protected"], stats["archived"]["results"]) == (3, 1, 3)
    (warning,) = stats["warnings"]
    assert "1 result" in warning
    assert "could not be archived" in warning
    assert "line of output" not in warning
    (kept,) = decisions_of(answer, "keep")
    assert (kept["reason"], kept["source_ref"]) == ("protected", None)
    assert answer["messages"][2] == history(4)[2]
    assert check_recoverable(archive, SESSION, archived_request(history(4)), answer) == 3


async def test_what_could_not_be_stored_is_kept_and_the_rest_stands() -> None:
    archive = memory_archive()
    troubled = Archive(RefusesToWrite(archive.storage, BROKEN.__eq__))
    answer = await compact_with(troubled, archived_request(history(4)))
    check_one_kept(answer, archive)
    assert TROUBLE in answer["stats"]["warnings"][0]
    assert claimed(archive) == ["c0", "c2", "c3"]


@pytest.mark.parametrize(
    "read",
    [unavailable, gone, lambda data: flipped(data, 7), lambda data: data[:-1], lambda data: b"", lambda data: data * 2],
    ids=["unavailable", "gone", "flipped", "shorter", "empty", "longer"],
)
async def test_what_does_not_read_back_as_it_was_is_kept_and_not_claimed(read: Callable[[bytes], bytes]) -> None:
    archive = memory_archive()
    troubled = Archive(ReadsBackWrong(archive.storage, BROKEN.__eq__, read))
    answer = await compact_with(troubled, archived_request(history(4)))
    check_one_kept(answer, archive)
    assert claimed(archive) == ["c0", "c2", "c3"]


async def test_what_another_call_stored_of_the_same_text_does_not_stand_in_for_its_own_blocks() -> None:
    archive = memory_archive()
    await compact_with(archive, archived_request(history(1)))
    blocks = [{**text(long_text("c0")), "id": "b"}]
    messages = [message("user", text("go")), message("assistant", call("other"), result("other", blocks))]
    damaged = ReadsBackWrong(archive.storage, lambda name: name.endswith(".json"), lambda data: flipped(data, 9))
    answer = await compact_with(Archive(damaged), archived_request(messages))
    assert rules_of(answer) == {"other": "archive_failed"}


async def test_what_was_damaged_before_is_healed_or_kept() -> None:
    archive = memory_archive()
    request = archived_request(history(4))
    await compact_with(archive, request)
    whole = archive.storage.read(BROKEN)
    archive.storage.write([[NewObject(BROKEN, flipped(whole, 3))]])
    check_one_kept(await compact_with(Archive(RefusesToWrite(archive.storage, BROKEN.__eq__)), request), archive)
    healed = await compact_with(archive, request)
    assert check_recoverable(archive, SESSION, request, healed) == 4
    assert archive.storage.read(BROKEN) == whole


@pytest.mark.parametrize("place", [RaisesOnWrite, lambda storage: RefusesToWrite(storage, lambda name: True)])
async def test_if_nothing_can_be_stored_nothing_is_replaced(place: Callable[[Storage], Any]) -> None:
    archive = memory_archive()
    answer = await compact_with(Archive(place(archive.storage)), archived_request(history(4)))
    CompactionResult.model_validate(answer, strict=True)
    assert answer["messages"] == history(4)
    assert (answer["changed"], answer["reason"]) == (False, "no_candidates")
    assert set(rules_of(answer).values()) == {"archive_failed"}
    assert answer["stats"]["warnings"] == [f"4 results could not be archived and are kept: {TROUBLE}"]
    assert everything_in(archive) == []


async def test_what_only_the_archive_failed_is_kept_those_of_the_host_are_replaced() -> None:
    archive = memory_archive()
    request = archived_request(history(2), source_refs={"c0": "host/c0"})
    answer = await compact_with(Archive(RaisesOnWrite(archive.storage)), request)
    assert [decision["action"] for decision in answer["decisions"]] == ["preview", "keep"]
    assert rules_of(answer) == {"c1": "archive_failed"}


async def test_with_a_budget_a_failure_is_never_a_forced_fit() -> None:
    archive = memory_archive()
    troubled = Archive(RaisesOnWrite(archive.storage))
    request = archived_request(history(4), options={"max_output_tokens": 1})
    answer = await compact_with(troubled, request, token_counter=lambda messages: len(str(messages)))
    assert (answer["reason"], answer["budget_met"], answer["changed"]) == ("budget_exceeded", False, False)


async def test_a_place_that_works_again_serves_the_next_compaction() -> None:
    archive = memory_archive()
    place = RefusesToWrite(archive.storage, lambda name: True)
    request = archived_request(history(3))
    assert decisions_of(await compact_with(Archive(place), request)) == []
    place.is_refused = lambda name: False
    answer = await compact_with(Archive(place), request, always(0.0))
    assert check_recoverable(archive, SESSION, request, answer) == 3
