"""A compaction that nobody waits for any more leaves nothing behind that only it had stored; many at once are apart."""

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from archiving import (
    SESSION,
    StorageAround,
    archived_request,
    check_recoverable,
    claimed,
    compact_with,
    counts_output,
    everything_in,
    memory_archive,
    references_of,
    text_object,
)
from histories import history, long_text
from models import HangingModel, always

from reme_compact import CompactContextStep, TokenCounterError
from reme_compact.archive.archive import Archive
from reme_compact.archive.filesystem import FilesystemStorage
from reme_compact.archive.reference import Session
from reme_compact.archive.storage import NewObject, Storage
from reme_compact.compaction.originals import Originals
from reme_compact.contract.errors import ArchiveError, ReferenceNotFoundError

pytestmark = pytest.mark.anyio

LONGEST_WAIT = 60


class Steered(StorageAround):
    """Stops where a test wants it to, and tells when something was taken back."""

    def __init__(self, storage: Storage, *, stops_at: str = "") -> None:
        super().__init__(storage)
        self.stops_at = stops_at
        self.loop_thread = threading.get_ident()
        self.stopped, self.go_on, self.removed = threading.Event(), threading.Event(), threading.Event()
        self._has_written = False

    def write(self, groups: Sequence[Sequence[NewObject]]) -> list[ArchiveError | bool]:
        assert threading.get_ident() != self.loop_thread
        if len(groups) > 1:
            self._stop("writing")
        outcomes = self.inner.write(groups)
        self._has_written |= len(groups) > 1
        return outcomes

    def read(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        assert threading.get_ident() != self.loop_thread
        if self._has_written:
            self._stop("reading back")
        return self.inner.read(name, start, end)

    @contextmanager
    def removing(self) -> Iterator[None]:
        with self.inner.removing():
            yield
        self.removed.set()

    async def until(self, event: threading.Event) -> None:
        assert await asyncio.to_thread(event.wait, LONGEST_WAIT)

    def _stop(self, where: str) -> None:
        if where == self.stops_at:
            self.stopped.set()
            assert self.go_on.wait(LONGEST_WAIT)


@pytest.fixture(params=["memory", "directory"])
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> Archive:
    return memory_archive() if request.param == "memory" else Archive(FilesystemStorage(tmp_path / "archive"))


async def abandoned(place: Steered, meanwhile: Callable[[], Any] | None = None) -> None:
    """Compact until the place stops, have something done, cancel, and wait until what was stored is taken back."""
    task = asyncio.create_task(compact_with(Archive(place), archived_request(history(3))))
    await place.until(place.stopped)
    if meanwhile is not None:
        await meanwhile()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    place.go_on.set()
    await place.until(place.removed)


@pytest.mark.parametrize("where", ["writing", "reading back"])
async def test_cancelled_while_it_stores_it_removes_what_it_stored(archive: Archive, where: str) -> None:
    await compact_with(archive, archived_request(history(2)), owner="anna")
    before = everything_in(archive)
    await abandoned(Steered(archive.storage, stops_at=where))
    # Texts that another session has as well stay, and so does what it claims.
    assert everything_in(archive) == before
    assert claimed(archive) == []


async def test_cancelled_when_everything_is_finished_it_removes_what_it_stored(
    archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Steered(archive.storage)
    loop = asyncio.get_running_loop()
    hand_over = Originals.hand_over

    def hand_over_and_be_cancelled(originals: Originals) -> None:
        hand_over(originals)
        # The loop hears of the cancellation before it hears of the result.
        loop.call_soon_threadsafe(task.cancel)

    monkeypatch.setattr(Originals, "hand_over", hand_over_and_be_cancelled)
    task = asyncio.create_task(compact_with(Archive(place), archived_request(history(3))))
    with pytest.raises(asyncio.CancelledError):
        await task
    await place.until(place.removed)
    assert everything_in(archive) == []


async def test_cancelled_just_before_everything_is_finished_it_removes_what_it_stored(
    archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Steered(archive.storage)
    hand_over = Originals.hand_over

    def hand_over_late(originals: Originals) -> None:
        place.stopped.set()
        assert place.go_on.wait(LONGEST_WAIT)
        hand_over(originals)

    monkeypatch.setattr(Originals, "hand_over", hand_over_late)
    await abandoned(place)
    assert everything_in(archive) == []


async def test_cancelled_before_anything_is_stored_nothing_is(archive: Archive) -> None:
    model = HangingModel()
    task = asyncio.create_task(compact_with(archive, archived_request(history(3)), model))
    await model.asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert everything_in(archive) == []


async def test_a_counter_that_fails_after_storing_leaves_nothing_behind(archive: Archive) -> None:
    counted: list[int] = []

    def count(messages: list[dict[str, Any]]) -> int:
        counted.append(len(messages))
        if len(counted) > 1:
            raise LookupError
        return 10**6

    request = archived_request(history(3), options={"max_output_tokens": 1})
    with pytest.raises(TokenCounterError):
        await compact_with(archive, request, token_counter=count)
    assert everything_in(archive) == []


async def test_what_another_compaction_proposed_meanwhile_stays(archive: Archive) -> None:
    answers: list[dict[str, Any]] = []

    async def another() -> None:
        answers.append(await compact_with(archive, archived_request(history(2))))

    await abandoned(Steered(archive.storage, stops_at="reading back"), another)
    assert check_recoverable(archive, SESSION, archived_request(history(2)), answers[0]) == 2
    assert claimed(archive) == ["c0", "c1"]
    assert text_object(long_text("c2")) not in everything_in(archive)


async def test_what_another_compaction_proposed_before_stays(archive: Archive) -> None:
    answer = await compact_with(archive, archived_request(history(2)))
    await abandoned(Steered(archive.storage, stops_at="reading back"))
    assert check_recoverable(archive, SESSION, archived_request(history(2)), answer) == 2
    assert claimed(archive) == ["c0", "c1"]


async def test_the_loop_goes_on_while_originals_are_stored(archive: Archive) -> None:
    place = Steered(archive.storage, stops_at="writing")
    task = asyncio.create_task(compact_with(Archive(place), archived_request(history(3))))
    await place.until(place.stopped)
    assert not task.done()
    place.go_on.set()
    assert check_recoverable(archive, SESSION, archived_request(history(3)), await task) == 3


async def test_many_at_once_of_one_session_all_keep_their_promises(archive: Archive) -> None:
    """Some stop early and give up what they did not need, which others have just stored as well."""
    budgets = [None, 6_600, 9_000, None, 5_100, 8_000]
    requests = [
        archived_request(history(5), options={} if budget is None else {"max_output_tokens": budget})
        for budget in budgets
    ]
    step = CompactContextStep(as_decision_model=always(0.0), archive=archive, token_counter=counts_output())
    answers = [(await one).answer for one in [asyncio.create_task(step(**request)) for request in requests]]
    for request, answer in zip(requests, answers, strict=True):
        assert check_recoverable(archive, SESSION, request, answer) == len(references_of(answer)) > 0


async def test_many_sessions_at_once_are_kept_apart(archive: Archive) -> None:
    step = CompactContextStep(as_decision_model=always(0.0), archive=archive)
    names = [f"session {number}" for number in range(12)]
    requests = [archived_request(history(2 + number % 3), session=name) for number, name in enumerate(names)]
    responses = await asyncio.gather(*(step(**request) for request in requests))
    for name, request, response in zip(names, requests, responses, strict=True):
        assert check_recoverable(archive, Session(name), request, response.answer) >= 2
        for reference in references_of(response.answer):
            with pytest.raises(ReferenceNotFoundError):
                archive.read(reference, Session("session 12"))
    assert {record.session.name for record in archive.sessions().sessions} == set(names)
