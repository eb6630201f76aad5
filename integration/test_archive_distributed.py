"""A distributed deployment with an archive that its workers share, and one without."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from archiving import check_recoverable, decisions_of
from distributed_fixtures import LONGEST_WAIT, Cluster, cluster, judge, proposal
from histories import history, request_for

from reme_compact import CompactContextStep, InvalidRequestError
from reme_compact.archive.archive import Archive
from reme_compact.archive.filesystem import FilesystemStorage
from reme_compact.archive.reference import Session
from reme_compact.contract.errors import ReferenceNotFoundError
from reme_compact.contract.request import CompactionRequest
from reme_compact.jobs.intake import accept
from reme_compact.service.app import create_app

pytestmark = pytest.mark.anyio

ANNAS = Session("travel", "anna")
WINDOW = 8


def request(calls: int, chars: int = 2_000) -> dict[str, Any]:
    """Return a request that needs so many decision requests, and replaces about half of the results."""
    options = {"max_state_tokens": 1500, "max_concurrency": WINDOW, "drop_threshold": 0.5}
    return request_for(history(calls, chars), source_refs={}, archive={"session": "travel"}, options=options)


async def submit(it: Cluster, asked: dict[str, Any], owner: str = "anna") -> str:
    body = orjson.dumps(asked)
    accepted = await accept(
        it.deployment,
        it.preset.execution,
        job="compact_context",
        owner=owner,
        request=CompactionRequest.parse(asked),
        body=body,
    )
    return accepted.document.id


async def answer_of(it: Cluster, job_id: str) -> dict[str, Any]:
    document = await it.finished(job_id)
    assert document.status == "succeeded", document
    answer: dict[str, Any] = orjson.loads(b"".join(await it.deployment.store.result(job_id, None)))["answer"]
    return answer


async def embedded(asked: dict[str, Any], place: Path, owner: str = "anna") -> dict[str, Any]:
    """Return the proposal that the library makes for a request, with an archive of its own."""
    step = CompactContextStep(as_decision_model=judge, archive=str(place))
    answer: dict[str, Any] = (await step.run(CompactionRequest.parse(asked), owner=owner)).answer
    return answer


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(LONGEST_WAIT):
        while not is_so():  # noqa: ASYNC110 - nothing tells of a file
            await asyncio.sleep(0.002)


async def test_references_of_a_job_read_back_under_its_owner(tmp_path: Path) -> None:
    place = tmp_path / "archive"
    async with cluster(tmp_path, archive__location=str(place)) as it:
        it.start_worker("jobs")
        it.start_worker("scores")
        await it.until_ready()
        answer = await answer_of(it, await submit(it, request(20)))
        berts = await answer_of(it, await submit(it, request(20), "bert"))
        archive = Archive(FilesystemStorage(place))
        assert check_recoverable(archive, ANNAS, request(20), answer) > 5
        assert check_recoverable(archive, Session("travel", "bert"), request(20), berts) > 5
        assert proposal(answer) == proposal(await embedded(request(20), tmp_path / "own"))
        assert answer["stats"]["archived"]["results"] == len(decisions_of(answer))
        for session in (Session("travel", "bert"), Session("travel")):
            with pytest.raises(ReferenceNotFoundError):
                archive.read(decisions_of(answer)[0]["source_ref"], session)
        assert it.deployment.archive is not None
        assert {record.session for record in it.deployment.archive.sessions().sessions} == {
            ANNAS,
            Session("travel", "bert"),
        }


async def test_a_worker_killed_while_it_asks_loses_nothing(tmp_path: Path) -> None:
    place = tmp_path / "archive"
    async with cluster(tmp_path, archive__location=str(place)) as it:
        lost = it.start_worker("jobs")
        it.start_worker("scores")
        await it.until_ready()
        it.model.seconds = 0.05
        job_id = await submit(it, request(60))
        await it.model.until_begun(20)
        lost.kill()
        it.start_worker("jobs")
        answer = await answer_of(it, job_id)
        assert proposal(answer) == proposal(await embedded(request(60), tmp_path / "own"))
        assert check_recoverable(Archive(FilesystemStorage(place)), ANNAS, request(60), answer) > 15


@pytest.mark.parametrize("files", [1, 20])
async def test_a_worker_killed_while_it_stores_loses_nothing(tmp_path: Path, files: int) -> None:
    place = tmp_path / "archive"
    async with cluster(tmp_path, archive__location=str(place)) as it:
        lost = it.start_worker("jobs")
        it.start_worker("scores")
        await it.until_ready()
        asked = request(60, chars=150_000)
        job_id = await submit(it, asked)
        await until(lambda: sum(1 for path in place.rglob("*") if path.is_file()) >= files)
        lost.kill()
        print(f"{sum(1 for path in place.rglob('*') if path.is_file())} files when it was killed")
        it.start_worker("jobs")
        answer = await answer_of(it, job_id)
        archive = Archive(FilesystemStorage(place))
        assert check_recoverable(archive, ANNAS, asked, answer) > 15
        assert archive.verify().damages == ()
        assert proposal(answer) == proposal(await embedded(asked, tmp_path / "own"))


async def test_without_a_shared_place_a_request_for_an_archive_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REME_ARCHIVE", raising=False)
    async with cluster(tmp_path) as it:
        assert it.deployment.archive is None
        with pytest.raises(InvalidRequestError) as refused:
            it.deployment.check_request(CompactionRequest.parse(request(1)))
        assert [problem["path"] for problem in refused.value.problems] == ["archive"]
        app = create_app(it.preset)
        transport = httpx.ASGITransport(app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=30) as client,
        ):
            for path in ("/jobs/compact_context", "/compact_context"):
                answer = await client.post(path, json=request(1))
                assert answer.status_code == 422, answer.text
                problem = answer.json()
                assert problem["code"] == "invalid_request"
                assert [one["path"] for one in problem["problems"]] == ["archive"]
            without = {**request(1), "archive": None}
            assert (await client.post("/jobs/compact_context", json=without)).status_code == 202
