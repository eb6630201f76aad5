"""A process ends although something in it does not."""

import subprocess
import sys

import pytest

STUBBORN_TASK = """
async def work():
    async def stubborn():
        while True:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                pass
    asyncio.create_task(stubborn())
    await asyncio.sleep(0)
"""
STUCK_THREAD = """
async def work():
    threading.Thread(target=time.sleep, args=(3600,)).start()
"""
STUCK_EXECUTOR = """
async def work():
    asyncio.get_running_loop().run_in_executor(None, time.sleep, 3600)
"""
ORDINARY = """
async def work():
    await asyncio.to_thread(time.sleep, 0)
"""
SCRIPT = """
import asyncio, atexit, logging, threading, time
from reme_compact.service.process_end import end_in_spite_of_threads, run_without_waiting
logging.basicConfig(format="%(message)s")
atexit.register(print, "ended as usual", flush=True)
{work}
run_without_waiting(work())
print("closed", flush=True)
end_in_spite_of_threads()
"""


@pytest.mark.parametrize(
    ("work", "output", "log"),
    [
        (ORDINARY, "closed\nended as usual\n", ""),
        (STUBBORN_TASK, "closed\nended as usual\n", "tasks that ignore their cancellation are let go\n"),
        (STUCK_THREAD, "closed\n", "threads that do not end are let go\n"),
        (STUCK_EXECUTOR, "closed\n", "threads that do not end are let go\n"),
    ],
)
def test_a_process_ends_whatever_is_left_in_it(work: str, output: str, log: str) -> None:
    ended = subprocess.run(  # noqa: S603 - our own interpreter and script
        [sys.executable, "-c", SCRIPT.format(work=work)], capture_output=True, text=True, timeout=60, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, output, log)
