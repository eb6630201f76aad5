"""`GET /archive/...`: an original is read back in pieces, and every way in which that can fail is told."""

import logging
import threading
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, cast

import anyio
import anyio.to_thread
import httpx
import pytest
from archive_base import flipped
from fastapi import FastAPI
from models import always

from reme_compact.archive.archive import Archive
from reme_compact.archive.filesystem import FilesystemStorage
from reme_compact.archive.reference import Session
from reme_compact.archive.storage import Storage
from reme_compact.archive.storing import NewEntry
from reme_compact.compaction.step import CompactContextStep
from reme_compact.contract.errors import ArchiveUnavailableError
from reme_compact.presets.schema import Preset, ServiceSettings
from reme_compact.service.app import create_app
from reme_compact.service.documented_archive import OriginalPiece
from reme_compact.service.problems import Problem

Connect = Callable[[FastAPI], AbstractAsyncContextManager[httpx.AsyncClient]]
Serving = Callable[[FastAPI], AbstractAsyncContextManager[int]]

SESSION = Session("travel")
LONG = "".join(f"line {number}: grün 👩‍👩‍👧 \r\n" for number in range(2_000))


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive(FilesystemStorage(tmp_path / "archive"))


def keep(archive: Archive, text: str) -> str:
    return archive.store(SESSION, NewEntry("call_1", "read_file", text)).reference


def app_with(archive: Archive | None) -> FastAPI:
    return create_app(step=CompactContextStep(as_decision_model=always(0.0), archive=archive))


def check_problem(answer: httpx.Response, status: int, code: str) -> Problem:
    assert answer.headers["content-type"] == "application/problem+json"
    problem = Problem.model_validate(answer.json())
    assert (answer.status_code, problem.code) == (status, code)
    return problem


async def read_all(client: httpx.AsyncClient, reference: str, **query: Any) -> str:
    """Read on from piece to piece, as documented."""
    texts: list[str] = []
    offset: int | None = 0
    while offset is not None:
        answer = await client.get(f"/{reference}", params={"offset": offset, **query})
        assert answer.status_code == 200
        piece = answer.json()
        assert piece["offset"] == offset
        texts.append(piece["text"])
        offset = piece["next_offset"]
        assert piece["complete"] is (offset is None)
        assert piece["total_chars"] >= len("".join(texts))
    return "".join(texts)


@pytest.mark.anyio
async def test_one_piece_and_what_is_told_with_it(archive: Archive, connect: Connect) -> None:
    reference = keep(archive, LONG)
    async with connect(app_with(archive)) as client:
        first = await client.get(f"/{reference}")
        part = await client.get(f"/{reference}?offset=16&max_chars=3")
        end = await client.get(f"/{reference}", params={"offset": len(LONG)})
    assert first.headers["cache-control"] == "private, no-store"
    assert first.headers["content-type"] == "application/json"
    piece = OriginalPiece.model_validate(first.json())
    assert piece.next_offset is not None
    assert 8_192 - 10 < piece.next_offset <= 8_192
    assert piece.text == LONG[: piece.next_offset]
    assert (piece.ref, piece.offset, piece.total_chars, piece.complete) == (reference, 0, len(LONG), False)
    family = {"ref": reference, "text": "👩‍👩‍👧", "offset": 13, "next_offset": 18, "total_chars": len(LONG)}
    assert part.json() == {**family, "complete": False}
    assert end.json()["text"] == ""
    assert (end.json()["next_offset"], end.json()["complete"]) == (None, True)


@pytest.mark.anyio
@pytest.mark.parametrize("max_chars", [997, 8_192, 16_384])
async def test_pieces_joined_are_the_original(archive: Archive, connect: Connect, max_chars: int) -> None:
    reference = keep(archive, LONG)
    async with connect(app_with(archive)) as client:
        assert await read_all(client, reference, max_chars=max_chars) == LONG


@pytest.mark.anyio
async def test_a_reference_may_be_written_in_each_of_these_ways(archive: Archive, connect: Connect) -> None:
    reference = keep(archive, "the original")
    escaped, lower = reference.replace("/", "%2F"), reference.replace("/", "%2f")
    session_id, content = reference.split("/")[1:]
    paths = [f"/{reference}", f"/archive/{reference}", f"/archive/{escaped}", f"/archive/{lower}"]
    async with connect(app_with(archive)) as client:
        answers = [await client.get(path) for path in [*paths, f"/archive/{session_id}%2F{content}"]]
        elsewhere = [await client.get(path) for path in (f"/{escaped}", f"/jobs%2F{content}", f"/x/archive/{escaped}")]
        wrong_method = await client.post(f"/archive/{escaped}", json={})
        head = await client.head(f"/{reference}")
    assert {answer.status_code for answer in answers} == {200}
    assert {answer.content for answer in answers} == {answers[0].content}
    assert answers[0].json()["ref"] == reference
    for answer in elsewhere:
        check_problem(answer, 404, "not_found")
    check_problem(wrong_method, 405, "method_not_allowed")
    assert "GET" in wrong_method.headers["allow"]
    assert (head.status_code, head.content) == (200, b"")


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("offset=-1", "query.offset"),
        ("offset=1.5", "query.offset"),
        ("offset=٣", "query.offset"),
        (f"offset={'9' * 40}", "query.offset"),
        ("offset=13", "query.offset"),
        ("offset=1&offset=2", "query.offset"),
        ("max_chars=0", "query.max_chars"),
        ("max_chars=16385", "query.max_chars"),
        ("max_chars=all", "query.max_chars"),
        ("limit=5", "query.limit"),
    ],
)
async def test_a_wrong_query_is_named(archive: Archive, connect: Connect, query: str, path: str) -> None:
    reference = keep(archive, "the original")
    async with connect(app_with(archive)) as client:
        problem = check_problem(await client.get(f"/{reference}?{query}"), 422, "invalid_request")
    assert [found.path for found in problem.problems] == [path]
    assert "the original" not in problem.message


@pytest.mark.anyio
async def test_what_is_no_reference_and_what_is_not_kept(archive: Archive, connect: Connect) -> None:
    reference = keep(archive, "the original")
    session_id, content = reference.split("/")[1:]
    async with connect(app_with(archive)) as client:
        refused = [await client.get(f"/archive/{wrong}") for wrong in ("demo/c1", "x", "", f"{session_id}/{content}0")]
        unknown = [
            await client.get(f"/archive/{wrong}")
            for wrong in (f"{session_id}/{'0' * 64}", f"{'0' * 32}/{content}", f"{'0' * 32}/{'0' * 64}")
        ]
    for answer in refused:
        check_problem(answer, 422, "invalid_reference")
    problems = [
        check_problem(answer, 404, "reference_not_found").model_dump(exclude={"instance"}) for answer in unknown
    ]
    assert problems[0] == problems[1] == problems[2]


@pytest.mark.anyio
async def test_a_deleted_session_is_gone(archive: Archive, connect: Connect) -> None:
    reference = keep(archive, "the original")
    archive.delete(SESSION)
    async with connect(app_with(archive)) as client:
        check_problem(await client.get(f"/{reference}"), 404, "reference_not_found")


@pytest.mark.anyio
async def test_a_service_without_an_archive_says_so(archive: Archive, connect: Connect) -> None:
    reference = keep(archive, "the original")
    async with connect(app_with(None)) as client:
        problem = check_problem(await client.get(f"/{reference}"), 404, "no_archive")
    assert "archive.location" in problem.message


@pytest.mark.anyio
@pytest.mark.parametrize("what", ["blobs/*/*", "sessions/*/*.*.json", "sessions/*/session.json"])
async def test_nothing_of_a_damaged_original_is_handed_out(
    archive: Archive, connect: Connect, tmp_path: Path, caplog: pytest.LogCaptureFixture, what: str
) -> None:
    reference = keep(archive, "the original")
    [path] = (tmp_path / "archive").glob(what)
    path.write_bytes(flipped(path.read_bytes(), 5))
    caplog.set_level(logging.WARNING)
    async with connect(app_with(archive)) as client:
        answer = await client.get(f"/{reference}")
    problem = check_problem(answer, 500, "archive_damaged")
    assert not problem.retryable
    assert "the original" not in answer.text
    assert [record.name for record in caplog.records] == ["reme_compact.service.archive_routes"]
    assert reference not in caplog.text


class Broken:
    """A place that cannot be read just now."""

    excludes_others = True

    def read(self, *_: Any) -> bytes:
        raise ArchiveUnavailableError("The archive's directory cannot be used: Input/output error.")


@pytest.mark.anyio
async def test_an_archive_that_cannot_be_read_is_worth_another_try(archive: Archive, connect: Connect) -> None:
    reference = keep(archive, "the original")
    async with connect(app_with(Archive(cast("Storage", Broken())))) as client:
        answer = await client.get(f"/{reference}")
    assert check_problem(answer, 503, "archive_unavailable").retryable
    assert int(answer.headers["retry-after"]) >= 1


class Slow:
    """A place that answers only when a test lets it."""

    excludes_others = True

    def __init__(self, reads: int) -> None:
        self.asked = threading.Barrier(reads + 1)
        self.answers = threading.Event()

    def read(self, *_: Any) -> bytes:
        self.asked.wait(60)
        self.answers.wait(60)
        raise FileNotFoundError


@pytest.mark.anyio
async def test_slow_reading_stops_nobody_else_and_has_a_limit(
    archive: Archive, connect: Connect, shrinkable: dict[str, Any]
) -> None:
    reference = keep(archive, "the original")
    slow = Slow(reads=2)
    step = CompactContextStep(as_decision_model=always(0.0), archive=Archive(cast("Storage", slow)))
    app = create_app(Preset(service=ServiceSettings(max_active_requests=2)), step)
    statuses: list[int] = []

    async def read(client: httpx.AsyncClient) -> None:
        statuses.append((await client.get(f"/{reference}")).status_code)

    with anyio.fail_after(60):
        async with connect(app) as client, anyio.create_task_group() as tasks:
            try:
                for _ in range(2):
                    tasks.start_soon(read, client)
                await anyio.to_thread.run_sync(slow.asked.wait)
                assert app.state.service.archive_threads.borrowed_tokens == 2
                refused = await client.get(f"/{reference}")
                others = [await client.get("/health"), await client.post("/compact_context", json=shrinkable)]
            finally:
                slow.answers.set()
    check_problem(refused, 503, "too_busy")
    assert int(refused.headers["retry-after"]) >= 1
    assert [answer.status_code for answer in others] == [200, 200]
    assert statuses == [404, 404]


@pytest.mark.anyio
async def test_a_real_server_reads_escaped_references(archive: Archive, serving: Serving) -> None:
    reference = keep(archive, "the original")
    escaped = reference.replace("/", "%2F")
    with anyio.fail_after(60):
        async with serving(app_with(archive)) as port, httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
            answers = [await client.get(path) for path in (f"/archive/{escaped}", f"/archive/{reference}")]
            hostile = [await client.get(path) for path in ("/archive/..%2f..%2fetc", "/archive/%00", "/archive/%ff%fe")]
    assert [answer.json()["text"] for answer in answers] == ["the original"] * 2
    for answer in hostile:
        check_problem(answer, 422, "invalid_reference")


@pytest.mark.anyio
async def test_an_application_below_a_path_of_another_reads_escaped_references(archive: Archive) -> None:
    reference = keep(archive, "the original")
    inner = app_with(archive)
    outer = FastAPI()
    outer.mount("/reme", inner)
    paths = [f"/reme/{reference}", f"/reme/archive/{reference.replace('/', '%2F')}", "/reme/jobs%2Fx"]
    transport = httpx.ASGITransport(outer)
    async with (
        inner.router.lifespan_context(inner),
        httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client,
    ):
        assert [(await client.get(path)).status_code for path in paths] == [200, 200, 404]


ODD = 'two \ud83d\ude00 apart, 😀 together, a lone \udc80 and \ud800\ud801\udc00\udc01, "quoted" \x00\x1f\u2028 \\ é'


@pytest.mark.anyio
async def test_lone_surrogates_arrive_as_they_are(archive: Archive, connect: Connect) -> None:
    reference = keep(archive, ODD)
    async with connect(app_with(archive)) as client:
        assert await read_all(client, reference) == ODD
        first = await client.get(f"/{reference}")
    # The two would be one character if they stood beside each other in JSON.
    assert first.json()["text"] == ODD[:5]
    assert first.content.isascii()
