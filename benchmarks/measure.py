"""Measure one awaited compaction: time, memory above the input, and how long the event loop stood still."""

import asyncio
import ctypes
import gc
import os
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from benchmarks.counting import HostCounter

_Result = TypeVar("_Result")

_TICK_SECONDS = 0.005
_STATUS = Path("/proc/self/status")
_CLEAR_REFS = Path("/proc/self/clear_refs")
_RESET_PEAK = "5"


@dataclass(frozen=True, slots=True)
class Measured(Generic[_Result]):
    """What one compaction cost.

    Attributes:
        wall_seconds: from call to return.
        cpu_seconds: of all threads of the process.
        peak_bytes: most memory in use meanwhile, less what was in use before.
        stall_seconds: longest time in which the event loop ran nothing else.
        own_stall_seconds: the same, less the time that the host's counter took meanwhile.
    """

    result: _Result
    wall_seconds: float
    cpu_seconds: float
    peak_bytes: int
    stall_seconds: float
    own_stall_seconds: float


async def measure(work: Callable[[], Awaitable[_Result]], counter: HostCounter) -> Measured[_Result]:
    """Await the work once."""
    ticker = _Ticker(counter)
    watching = asyncio.create_task(ticker.watch())
    await asyncio.sleep(2 * _TICK_SECONDS)
    memory = PeakMemory()
    ticker.reset()
    cpu = time.process_time()
    started = time.perf_counter()
    result = await work()
    wall_seconds = time.perf_counter() - started
    cpu_seconds = time.process_time() - cpu
    peak_bytes = memory.above_start()
    await asyncio.sleep(2 * _TICK_SECONDS)
    watching.cancel()
    return Measured(result, wall_seconds, cpu_seconds, peak_bytes, ticker.longest, ticker.longest_own)


class _Ticker:
    """Wakes up all the time and notes by how much it came too late."""

    def __init__(self, counter: HostCounter) -> None:
        self._counter = counter
        self.reset()

    def reset(self) -> None:
        self.longest = 0.0
        self.longest_own = 0.0

    async def watch(self) -> None:
        while True:
            before = time.perf_counter()
            counted_before = self._counter.seconds_until(before)
            await asyncio.sleep(_TICK_SECONDS)
            now = time.perf_counter()
            late = max(0.0, now - before - _TICK_SECONDS)
            counted = self._counter.seconds_until(now) - counted_before
            self.longest = max(self.longest, late)
            self.longest_own = max(self.longest_own, late - counted)


class PeakMemory:
    """The most memory that the process has in use from now on, less what it has now.

    On Linux the kernel's high-water mark is set back first; elsewhere it is the mark since the start, which says
    less: it stays at 0 until the compaction needs more than making the input did.

    Attributes:
        method: `VmHWM` or `ru_maxrss`.
    """

    def __init__(self) -> None:
        gc.collect()
        _return_free_memory()
        self.method = "ru_maxrss"
        with suppress(OSError):
            _CLEAR_REFS.write_text(_RESET_PEAK, encoding="ascii")
            self.method = "VmHWM"
        self._start = _status_bytes("VmRSS") if self.method == "VmHWM" else _maximum_rss()

    def above_start(self) -> int:
        """Return the bytes by which the most exceeds the start."""
        peak = _status_bytes("VmHWM") if self.method == "VmHWM" else _maximum_rss()
        return max(0, peak - self._start)


def take_standard_output() -> int:
    """Return a descriptor of standard output, on which nobody else's words can get from now on."""
    own = os.dup(1)
    os.dup2(2, 1)
    return own


def _status_bytes(name: str) -> int:
    for line in _STATUS.read_text(encoding="utf-8").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"{_STATUS} has no {name}")


def _maximum_rss() -> int:
    import resource  # noqa: PLC0415 - there is none on Windows

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _return_free_memory() -> None:
    """Give memory that was freed while the input was made back, since filling it again would go unseen."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
