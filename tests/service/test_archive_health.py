"""What `/ready` tells of an archive that cannot be written, and when it looks."""

import threading
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from fastapi import FastAPI
from models import always

from reme_compact.archive.archive import Archive
from reme_compact.archive.filesystem import FilesystemStorage
from reme_compact.archive.reference import Session
from reme_compact.archive.storage import Storage
from reme_compact.archive.storing import NewEntry
from reme_compact.compaction.step import CompactContextStep
from reme_compact.contract.errors import ArchiveUnavailableError
from reme_compact.presets.schema import ArchiveSettings, Preset
from reme_compact.service import archive_health
from reme_compact.service.app import create_app
from reme_compact.service.archive_health import LOOK_AGAIN_AFTER, ArchiveHealth

pytestmark = pytest.mark.anyio

Connect = Callable[[FastAPI], AbstractAsyncContextManager[httpx.AsyncClient]]

FULL = "The archive's directory cannot be used: No space left on device."


class FillingStorage:
    """A place that is full whenever a test says so, and counts what it is asked to write."""

    def __init__(self, directory: Path) -> None:
        self._storage = FilesystemStorage(directory)
        self.is_full = False
        self.writes = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)

    def write(self, groups: Any) -> Any:
        self.writes += 1
        if self.is_full:
            return [ArchiveUnavailableError(FULL) for _ in groups]
        return self._storage.write(groups)


@pytest.fixture
def storage(tmp_path: Path) -> FillingStorage:
    return FillingStorage(tmp_path / "archive")


@pytest.fixture
def archive(storage: FillingStorage) -> Archive:
    return Archive(cast("Storage", storage))


class Clock:
    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock(noon: datetime) -> Clock:
    return Clock(noon)


def app_with(archive: Archive, clock: Clock, session: str | None = None) -> FastAPI:
    preset = Preset(archive=ArchiveSettings(location="/nowhere", session=session))
    step = CompactContextStep(as_decision_model=always(0.0), archive=archive, archive_session=session)
    return create_app(preset, step, clock=clock)


@pytest.fixture
def archiving(shrinkable: dict[str, Any]) -> dict[str, Any]:
    return {**shrinkable, "source_refs": {}, "archive": {"session": "travel"}}


async def test_one_that_nobody_depends_on_is_not_looked_at(
    connect: Connect, archive: Archive, storage: FillingStorage, clock: Clock
) -> None:
    storage.is_full = True
    async with connect(app_with(archive, clock)) as client:
        answer = await client.get("/ready")
    assert (answer.status_code, answer.json()["missing"]) == (200, [])
    assert storage.writes == 0


async def test_one_that_failed_is_named_until_it_can_be_written_again(
    connect: Connect, archive: Archive, storage: FillingStorage, clock: Clock, archiving: dict[str, Any]
) -> None:
    async with connect(app_with(archive, clock)) as client:
        storage.is_full = True
        kept = await client.post("/compact_context", json=archiving)
        degraded = await client.get("/ready")
        metrics = await client.get("/metrics")
        storage.is_full = False
        clock.now += LOOK_AGAIN_AFTER
        ready = await client.get("/ready")
        done = await client.post("/compact_context", json=archiving)
        writes = storage.writes
        clock.now += LOOK_AGAIN_AFTER
        await client.get("/ready")
    assert kept.status_code == 200
    assert kept.json()["answer"]["stats"]["protected_by"]["archive_failed"] == 1
    assert degraded.status_code == 503
    assert degraded.json()["missing"] == [{"part": "archive", "message": FULL}]
    assert 'reme_part_missing{part="archive"} 1.0' in metrics.text
    assert (ready.status_code, ready.json()["missing"]) == (200, [])
    assert done.json()["answer"]["changed"] is True
    assert storage.writes == writes


async def test_one_that_every_request_needs_is_looked_at_now_and_then(
    connect: Connect, archive: Archive, storage: FillingStorage, clock: Clock
) -> None:
    storage.is_full = True
    statuses, writes = [], []
    async with connect(app_with(archive, clock, session="everybody's")) as client:
        for seconds in (0, 1, 28, 1, 0, 30):
            clock.now += timedelta(seconds=seconds)
            statuses.append((await client.get("/ready")).status_code)
            writes.append(storage.writes)
            storage.is_full = False
    assert writes == [1, 1, 1, 2, 2, 3]
    assert statuses == [503, 503, 503, 200, 200, 200]


async def test_a_look_leaves_nothing_behind(storage: FillingStorage, archive: Archive, clock: Clock) -> None:
    archive.store(Session("travel"), NewEntry("c", "read_file", "the original"))
    before = sorted(path for path in storage.directory.rglob("*") if path.is_file())
    assert await ArchiveHealth(is_always_used=True, clock=clock).problem(archive) is None
    assert sorted(path for path in storage.directory.rglob("*") if path.is_file()) == before
    assert archive.verify().damages == ()


async def test_a_directory_that_others_can_write_to_is_named_with_the_remedy(tmp_path: Path, clock: Clock) -> None:
    directory = tmp_path / "archive"
    archive = Archive(FilesystemStorage(directory))
    directory.mkdir()
    directory.chmod(0o777)
    problem = await ArchiveHealth(is_always_used=True, clock=clock).problem(archive)
    assert problem is not None
    assert f"chmod go-w '{directory}'" in problem


class HangingStorage:
    """A place that answers only when a test lets it."""

    def __init__(self) -> None:
        self.answers = threading.Event()
        self.answered = threading.Event()
        self.writes = 0

    def write(self, groups: Any) -> list[bool]:
        self.writes += 1
        self.answers.wait(60)
        return [True for _ in groups]

    def delete(self, _: Any) -> None:
        self.answered.set()


async def test_one_that_does_not_answer_is_named_and_not_asked_again_meanwhile(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive_health, "_PATIENCE_SECONDS", 0.01)
    storage = HangingStorage()
    archive = Archive(cast("Storage", storage))
    health = ArchiveHealth(is_always_used=True, clock=clock)
    try:
        for _ in range(3):
            assert "did not answer" in str(await health.problem(archive))
            clock.now += LOOK_AGAIN_AFTER
    finally:
        storage.answers.set()
    assert storage.answered.wait(60)
    assert storage.writes == 1
