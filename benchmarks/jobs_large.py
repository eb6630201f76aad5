"""A history of 50 MB through a distributed deployment: what it takes beyond the core, and memory."""

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.execution import clean_environment
from benchmarks.jobs_client import JobClient
from benchmarks.jobs_deployments import distributed
from benchmarks.jobs_process import PAUSE
from benchmarks.jobs_requests import large_body
from benchmarks.jobs_rows import Row

_BODY_BYTES = 50_000_000
_LIMIT_SECONDS = 3.0
_LIMIT_BYTES = 300_000_000
_LONGEST_SECONDS = 300
_SLOTS = 16
_INSTANTLY = 0.0


def measure_large(rounds: int, report: Callable[[str], None]) -> list[Row]:
    """Measure results of 20,000 characters, and of 2,000, of which there are ten times as many."""
    rows: list[Row] = []
    for chars in (20_000, 2_000):
        rows += _one_shape(chars, rounds)
        report(f"large history with results of {chars:,} characters: done")
    return rows


def _one_shape(chars: int, rounds: int) -> list[Row]:
    pairs, body = large_body(_BODY_BYTES, chars)
    core = [_core(body) for _ in range(rounds)]
    with distributed(_INSTANTLY, concurrency=_SLOTS) as running:
        client = JobClient(running.port)
        seen = [client.run(body).seconds for _ in range(rounds)]
        client.close()
        used = running.processor_seconds()
        peaks = running.peak_bytes()
    alone = statistics.median(run["seconds"] for run in core)
    what = f"{len(body) / 1e6:.0f} MB, {pairs:,} results of {chars:,} characters, distributed"
    took = statistics.median(seen)
    note = f"{took:.2f} s with {core[0]['requests']} decision requests; the core alone {alone:.2f} s"
    details = {"seconds": seen, "core": core, "processor_seconds": used}
    highest = max(peaks, key=lambda name: peaks[name])
    peak_note = ", ".join(f"{name} {size / 1e6:.0f}" for name, size in sorted(peaks.items()))
    return [
        Row(f"{what}: beyond the core", took - alone, "s", _LIMIT_SECONDS, note, details),
        Row(f"{what}: most memory", peaks[highest], "bytes", _LIMIT_BYTES, f"{peak_note} MB", {"peak_bytes": peaks}),
    ]


def _core(body: bytes) -> dict[str, Any]:
    """Compact the request in a process that does nothing else."""
    with tempfile.TemporaryDirectory(prefix="reme-bench-") as folder:
        path = Path(folder, "request.json")
        path.write_bytes(body)
        done = subprocess.run(  # noqa: S603 - a module of ours
            [sys.executable, "-m", "benchmarks.jobs_process", "core", str(path)],
            cwd=folder,
            env={**clean_environment(), PAUSE: str(_INSTANTLY)},
            capture_output=True,
            check=True,
            timeout=_LONGEST_SECONDS,
        )
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured
