"""Run one measurement in a process of its own, within its limit."""

import asyncio
import json
import os
import sys
import tempfile
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.cases import RunSpec, Side

ROOT = Path(__file__).resolve().parent.parent
PYTHONS: Mapping[Side, Path] = {
    "ours": Path(sys.executable),
    "theirs": ROOT / ".venv-peer" / "bin" / "python",
}
SETUP_SECONDS = 600
"""How long a process may take to make its input, or to write down its requests."""

_LONGEST_LINE = 1_000_000


class MeasurementError(Exception):
    """A process ended without its figures."""


class OverLimitError(Exception):
    """A process was ended because it took longer than its limit."""


@dataclass(frozen=True, slots=True)
class Run:
    """What one process reported: figures by name."""

    figures: dict[str, Any]


async def execute(spec: RunSpec, side: Side, limit_seconds: float) -> Run:
    """Measure a run; its limit starts when its input exists.

    Raises:
        OverLimitError: the limit passed; the process was killed.
        MeasurementError: the process failed.
    """
    with tempfile.TemporaryDirectory(prefix="reme-bench-") as folder, tempfile.TemporaryFile() as complaints:
        process = await asyncio.create_subprocess_exec(
            PYTHONS[side],
            "-m",
            f"benchmarks.{side}",
            spec.to_json(),
            cwd=folder,  # the peer writes its logs into the working directory
            env=clean_environment(),
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=complaints,
            limit=_LONGEST_LINE,
        )
        try:
            await _event(process, "ready", SETUP_SECONDS)
            figures = await _event(process, "figures", limit_seconds)
            if spec.sent_path is not None:
                await _event(process, "sent", SETUP_SECONDS)
        except EOFError:
            exit_code = await process.wait()
            complaints.seek(0)
            raise MeasurementError(_last_line(complaints.read(), exit_code)) from None
        except TimeoutError:
            raise OverLimitError from None
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()
    return Run(figures)


def clean_environment() -> dict[str, str]:
    """Return the environment without what would configure a decision model, and with this repository to import."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DECISION_MODEL_", "REME_"))}
    return {**kept, "PYTHONPATH": str(ROOT)}


async def _event(process: Process, expected: str, limit_seconds: float) -> dict[str, Any]:
    """Read the next event.

    Raises:
        EOFError: the process ended instead.
        TimeoutError: it took longer than the limit.
        MeasurementError: another event came.
    """
    if process.stdout is None:
        raise MeasurementError("no standard output")
    line = await asyncio.wait_for(process.stdout.readline(), limit_seconds)
    if not line:
        raise EOFError
    event: dict[str, Any] = json.loads(line)
    if event.pop("event") != expected:
        raise MeasurementError(f"expected {expected}")
    return event


def _last_line(complaints: bytes, exit_code: int) -> str:
    lines = complaints.decode("utf-8", "replace").strip().splitlines()
    return f"exit code {exit_code}: {lines[-1][:300] if lines else 'nothing said'}"
