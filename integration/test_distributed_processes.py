"""The processes of a distributed deployment: who starts whom again, and who ends with whom."""

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from distributed_fixtures import LONGEST_WAIT, cluster
from reme_workers.connection import connect
from reme_workers.heartbeat import count_live, heartbeats_key

from reme_compact.presets.schema import RedisSettings

pytestmark = pytest.mark.anyio

_LOCAL = """
import sys, time
from reme_workers.local_deployment import local_deployment
from reme_workers.worker_arguments import PresetArguments
with local_deployment(PresetArguments("distributed")) as url:
    print(url, flush=True)
    sys.stdin.readline()
"""


def children_of(process_id: int) -> set[int]:
    """Return all processes below one."""
    found: set[int] = set()
    # A process that ends meanwhile has none.
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for thread in Path(f"/proc/{process_id}/task").iterdir():
            for child in map(int, (thread / "children").read_text().split()):
                found |= {child, *children_of(child)}
    return found


def is_alive(process_id: int) -> bool:
    """Tell whether a process runs; one that ended and that nobody waited for does not."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{process_id}/status").read_text()
    except FileNotFoundError:
        return False


async def until_gone(process_ids: set[int]) -> None:
    """Wait until none of some processes runs."""
    async with asyncio.timeout(LONGEST_WAIT):
        while any(map(is_alive, process_ids)):  # noqa: ASYNC110 - they are not this process's children
            await asyncio.sleep(0.02)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing tells a child of its parent's end")
@pytest.mark.parametrize("how", [signal.SIGKILL, None])
async def test_workers_on_this_machine_end_with_their_parent(how: signal.Signals | None) -> None:
    parent = subprocess.Popen(  # noqa: ASYNC220
        [sys.executable, "-c", _LOCAL], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert parent.stdout is not None
    assert parent.stdin is not None
    with parent, parent.stdout as told:
        try:
            url = (await asyncio.to_thread(told.readline)).decode().strip()
            client = connect(RedisSettings.model_validate({"url": url}))
            async with asyncio.timeout(LONGEST_WAIT):
                for role in ("jobs", "scores"):
                    while not await count_live(client, heartbeats_key("reme:", role)):  # noqa: ASYNC110
                        await asyncio.sleep(0.05)
            await client.aclose()
            family = children_of(parent.pid)
            assert len(family) >= 5  # a server, and for each role a supervisor and its worker
            if how is None:
                parent.stdin.write(b"\n")
                parent.stdin.flush()
            else:
                parent.send_signal(how)
            await until_gone(family)
            await asyncio.to_thread(parent.wait, 10)
        finally:
            parent.kill()
    folder = Path(url.removeprefix("unix://")).parent
    assert folder.exists() == (how is not None)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells who the children are")
async def test_on_this_machine_a_lost_supervisor_is_replaced_and_a_lost_server_ends_it_all() -> None:
    parent = subprocess.Popen(  # noqa: ASYNC220
        [sys.executable, "-c", _LOCAL], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert parent.stdout is not None
    with parent, parent.stdout as told:
        try:
            await asyncio.to_thread(told.readline)
            async with asyncio.timeout(LONGEST_WAIT):
                while len(running(parent.pid, "reme_workers.supervision")) < 2:  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
            (supervisor,) = running(parent.pid, "reme_workers.supervision")[:1]
            os.kill(supervisor, signal.SIGKILL)
            async with asyncio.timeout(LONGEST_WAIT):
                while len(set(running(parent.pid, "reme_workers.supervision")) - {supervisor}) < 2:  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
            family = children_of(parent.pid)
            (server,) = running(parent.pid, "-server")
            os.kill(server, signal.SIGKILL)
            assert await asyncio.to_thread(parent.wait, LONGEST_WAIT) == -signal.SIGTERM
            await until_gone(family)
        finally:
            parent.kill()


def running(process_id: int, words: str) -> list[int]:
    """Return the processes below one that live and whose command line holds some words."""
    found = []
    for child in sorted(children_of(process_id)):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            line = Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" ").decode()
            if words in line and is_alive(child):
                found.append(child)
    return found


async def test_a_worker_that_ends_is_started_again_and_one_that_is_asked_to_end_is_not(tmp_path: Path) -> None:
    async with cluster(tmp_path) as it:
        supervisor = it.start_worker("jobs", supervised=True)
        runner = it.deployment.runner
        async with asyncio.timeout(LONGEST_WAIT):
            while not await runner.live("jobs"):  # noqa: ASYNC110 - a heart beats when it does
                await asyncio.sleep(0.02)
        (worker,) = children_of(supervisor.process.pid)
        os.kill(worker, signal.SIGKILL)
        async with asyncio.timeout(LONGEST_WAIT):
            while len(others := children_of(supervisor.process.pid) - {worker}) != 1:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
            (again,) = others
            while "worker starts" not in log_of(tmp_path, again):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        supervisor.ask_to_end()
        assert await asyncio.to_thread(supervisor.process.wait, 10) == 0
        await until_gone({again})


async def test_a_wrong_preset_is_not_tried_again_and_again(tmp_path: Path) -> None:
    async with cluster(tmp_path) as it:
        name = "components.as_decision_model.compaction.backend"
        overrides = {**it.arguments.overrides, name: "agentscope_openai"}
        it.arguments = type(it.arguments)("distributed", overrides)
        worker = it.start_worker("scores", supervised=True)
        assert await asyncio.to_thread(worker.process.wait, LONGEST_WAIT) == 1
        assert "DECISION_MODEL_API_KEY" in (tmp_path / "workers.log").read_text()


def log_of(folder: Path, process_id: int) -> str:
    """Return what a worker has logged: the lines that name its process."""
    lines = (folder / "workers.log").read_text().splitlines()
    return "\n".join(line for line in lines if f":{process_id}:" in line)
