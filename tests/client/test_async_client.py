"""What only the asynchronous client can do: be cancelled, and do several things at once."""

import socket
from typing import Any

import anyio
import pytest
from anyio import to_thread
from job_streams import EVENTS, QUEUED
from scripted_service import JOB_ID, ScriptedService

from reme_compact.client import AsyncClient
from reme_compact.contract.request import CompactionRequest

pytestmark = pytest.mark.anyio


async def test_a_cancelled_call_lets_its_connection_go() -> None:
    """So the service learns that nobody waits any more."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.settimeout(30)
        client = AsyncClient(f"http://127.0.0.1:{listener.getsockname()[1]}")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.health)
            connection, _ = await to_thread.run_sync(listener.accept)
            with connection:
                connection.settimeout(30)
                assert await to_thread.run_sync(connection.recv, 65536)
                tasks.cancel_scope.cancel()
                with anyio.CancelScope(shield=True):
                    assert await to_thread.run_sync(connection.recv, 1) == b""


async def test_many_calls_at_once(url: str) -> None:
    answers: list[Any] = []

    async def compact(client: AsyncClient) -> None:
        answers.append(await client.compact_context(CompactionRequest.example))

    async with AsyncClient(url) as client, anyio.create_task_group() as tasks:
        for _ in range(8):
            tasks.start_soon(compact, client)
    assert [answer.success for answer in answers] == [True] * 8


async def test_leaving_the_block_ends_open_streams(scripted: ScriptedService) -> None:
    scripted.streams(EVENTS, QUEUED)
    async with AsyncClient(f"http://127.0.0.1:{scripted.port}") as client:
        events = client.events(JOB_ID)
        assert (await anext(events)).type == "queued"
    with pytest.raises(StopAsyncIteration):
        await anext(events)
    assert len(scripted.asked) == 1
