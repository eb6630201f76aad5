"""Two keys use the same name of a session: each reads back only what it archived, and an administrator everything."""

import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Literal

import httpx
import pytest
from fastapi import FastAPI
from histories import call, message, request_for, result, text
from models import always

from reme_compact.archive.archive import Archive
from reme_compact.archive.filesystem import FilesystemStorage
from reme_compact.archive.reference import Session
from reme_compact.compaction.step import CompactContextStep
from reme_compact.presets.schema import ApiKeySettings, ArchiveSettings, Preset, ServiceSettings
from reme_compact.service import archive_routes
from reme_compact.service.app import create_app

pytestmark = pytest.mark.anyio

Connect = Callable[[FastAPI], AbstractAsyncContextManager[httpx.AsyncClient]]
Way = Literal["compact_context", "wait", "result"]

NAMES = ("alice", "bob", "admin")
ALICE, BOB, ADMIN = ({"Authorization": f"Bearer reme_secret-of-{name}"} for name in NAMES)
WAYS: list[Way] = ["compact_context", "wait", "result"]


def settings_of(name: str) -> ApiKeySettings:
    secret = hashlib.sha256(f"reme_secret-of-{name}".encode()).hexdigest()
    return ApiKeySettings(sha256=secret, administrator=name == "admin")


GUARDED = Preset(service=ServiceSettings(api_keys={name: settings_of(name) for name in NAMES}))


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive(FilesystemStorage(tmp_path / "archive"))


def app_with(archive: Archive, preset: Preset) -> FastAPI:
    return create_app(preset, CompactContextStep(as_decision_model=always(0.0), archive=archive))


@pytest.fixture
async def client(archive: Archive, connect: Connect) -> AsyncIterator[httpx.AsyncClient]:
    async with connect(app_with(archive, GUARDED)) as open_client:
        yield open_client


def original(whose: str) -> str:
    return f"what only {whose} may read, " * 100


def asking(output: str, session: str = "travel") -> dict[str, Any]:
    """Return a request whose one result has no source ref."""
    pair = message("assistant", call("c1"), result("c1", output))
    messages = [message("user", text("Plan the trip")), pair, message("user", text("Go on"))]
    return {**request_for(messages), "source_refs": {}, "archive": {"session": session}}


async def compact(client: httpx.AsyncClient, body: dict[str, Any], way: Way, headers: dict[str, str]) -> str:
    """Compact in one of the ways that HTTP offers; return the reference in the preview."""
    if way == "compact_context":
        answer = await client.post("/compact_context", json=body, headers=headers)
    else:
        prefer = {"Prefer": "wait=30"} if way == "wait" else {}
        job = await client.post("/jobs/compact_context", json=body, headers=headers | prefer)
        assert job.status_code == (200 if way == "wait" else 202)
        if way == "result":
            # The stream of events ends with the job.
            await client.get(f"/jobs/{job.json()['id']}/events", headers=headers)
        answer = await client.get(f"/jobs/{job.json()['id']}/result", headers=headers)
    assert answer.status_code == 200, answer.text
    proposal = answer.json()["answer"]
    [decision] = proposal["decisions"]
    assert decision["action"] == "preview"
    assert proposal["stats"]["archived"]["results"] == 1
    preview = proposal["messages"][1]["content"][1]["output"]
    assert preview.endswith(f"[Compacted output. Recover from: {decision['source_ref']}]")
    return str(decision["source_ref"])


def without_instance(answer: httpx.Response) -> dict[str, Any]:
    return {name: value for name, value in answer.json().items() if name != "instance"}


@pytest.mark.parametrize("way", WAYS)
async def test_each_key_reads_only_its_own_and_an_administrator_all(
    client: httpx.AsyncClient, archive: Archive, way: Way
) -> None:
    alice = await compact(client, asking(original("alice")), way, ALICE)
    bob = await compact(client, asking(original("bob")), way, BOB)
    assert alice.split("/")[1] != bob.split("/")[1]
    absent = await client.get(f"/archive/{'0' * 32}/{'0' * 64}", headers=BOB)
    for reference, owner, stranger in ((alice, ALICE, BOB), (bob, BOB, ALICE)):
        own = await client.get(f"/{reference}", headers=owner)
        shown = await client.get(f"/{reference}", headers=ADMIN)
        foreign = await client.get(f"/{reference}", headers=stranger)
        assert (own.status_code, shown.status_code, foreign.status_code) == (200, 200, 404)
        assert own.json() == shown.json()
        assert without_instance(foreign) == without_instance(absent)
        assert (await client.get(f"/{reference}")).status_code == 401
    assert (await client.get(f"/{alice}", headers=ALICE)).json()["text"] == original("alice")
    assert {record.session for record in archive.sessions().sessions} == {
        Session("travel", owner="alice"),
        Session("travel", owner="bob"),
    }


async def test_the_same_text_of_two_keys_has_two_references(client: httpx.AsyncClient) -> None:
    alice = await compact(client, asking(original("both")), "compact_context", ALICE)
    bob = await compact(client, asking(original("both")), "compact_context", BOB)
    assert alice.split("/")[2] == bob.split("/")[2]
    assert (await client.get(f"/{alice}", headers=ALICE)).status_code == 200
    assert (await client.get(f"/{alice}", headers=BOB)).status_code == 404


async def test_what_one_key_has_does_not_open_in_another_of_its_sessions(client: httpx.AsyncClient) -> None:
    travel = await compact(client, asking(original("alice")), "compact_context", ALICE)
    work = await compact(client, asking("something else, " * 200, "work"), "compact_context", ALICE)
    mixed = f"archive/{work.split('/')[1]}/{travel.split('/')[2]}"
    answer = await client.get(f"/{mixed}", headers=ALICE)
    assert (answer.status_code, answer.json()["code"]) == (404, "reference_not_found")


async def test_every_refusal_waits_for_the_same_moment(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []

    def at_once(elapsed: float) -> float:
        waited.append(elapsed)
        return 0.0

    reference = await compact(client, asking(original("alice")), "compact_context", ALICE)
    session_id = reference.split("/")[1]
    monkeypatch.setattr(archive_routes, "seconds_until_refusal", at_once)
    for path in (reference, f"archive/{session_id}/{'0' * 64}", f"archive/{'0' * 32}/{'0' * 64}"):
        assert (await client.get(f"/{path}", headers=BOB)).status_code == 404
    assert (await client.get(f"/{reference}", headers=ALICE)).status_code == 200
    assert len(waited) == 3


async def test_neither_a_damaged_nor_a_wrong_piece_tells_a_stranger_of_a_session(
    client: httpx.AsyncClient, tmp_path: Path
) -> None:
    reference = await compact(client, asking(original("alice")), "compact_context", ALICE)
    [path] = (tmp_path / "archive").glob("blobs/*/*")
    path.write_bytes(b"damaged")
    assert (await client.get(f"/{reference}", headers=ALICE)).status_code == 500
    foreign = [await client.get(f"/{reference}{query}", headers=BOB) for query in ("", "?offset=999999")]
    assert [answer.status_code for answer in foreign] == [404, 404]


@pytest.mark.parametrize("way", WAYS)
async def test_without_keys_everybody_reads_and_only_administrators_when_there_are_some(
    archive: Archive, connect: Connect, way: Way
) -> None:
    async with connect(app_with(archive, Preset())) as client:
        reference = await compact(client, asking(original("nobody")), way, {})
        assert (await client.get(f"/{reference}")).json()["text"] == original("nobody")
    async with connect(app_with(archive, GUARDED)) as client:
        statuses = [(await client.get(f"/{reference}", headers=key)).status_code for key in (ALICE, BOB, ADMIN)]
    assert statuses == [404, 404, 200]


async def test_a_key_s_sessions_stay_closed_when_there_are_no_keys_any_more(archive: Archive, connect: Connect) -> None:
    async with connect(app_with(archive, GUARDED)) as client:
        reference = await compact(client, asking(original("alice")), "compact_context", ALICE)
    async with connect(app_with(archive, Preset())) as client:
        assert (await client.get(f"/{reference}")).status_code == 404


async def test_embedded_use_and_a_service_without_keys_share_their_sessions(archive: Archive, connect: Connect) -> None:
    step = CompactContextStep(as_decision_model=always(0.0), archive=archive)
    proposal = (await step(**asking(original("the host")))).answer
    async with connect(app_with(archive, Preset())) as client:
        answer = await client.get(f"/{proposal['decisions'][0]['source_ref']}")
    assert answer.json()["text"] == original("the host")


async def test_the_session_of_a_preset_belongs_to_whoever_asks(tmp_path: Path, connect: Connect) -> None:
    location = str(tmp_path / "archive")
    step = CompactContextStep(as_decision_model=always(0.0), archive=location, archive_session="everybody's")
    preset = GUARDED.model_copy(update={"archive": ArchiveSettings(location=location, session="everybody's")})
    body = {key: value for key, value in asking(original("alice")).items() if key != "archive"}
    async with connect(create_app(preset, step)) as client:
        reference = await compact(client, body, "compact_context", ALICE)
        statuses = [(await client.get(f"/{reference}", headers=key)).status_code for key in (ALICE, BOB, ADMIN)]
    assert statuses == [200, 404, 200]
