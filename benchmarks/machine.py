"""What a run was made with: machine, interpreters, packages, time."""

import json
import os
import platform
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.cases import Side
from benchmarks.execution import PYTHONS, ROOT

_PACKAGES = ("reme-compact", "reme-ai", "agentscope", "pydantic", "numpy", "orjson", "anyio", "fastapi", "uvicorn")
_ASK = (
    "import json, platform, sys\n"
    "from importlib.metadata import PackageNotFoundError, version\n"
    "found = {}\n"
    "for name in sys.argv[1:]:\n"
    "    try:\n"
    "        found[name] = version(name)\n"
    "    except PackageNotFoundError:\n"
    "        pass\n"
    "print(json.dumps({'python': platform.python_version(), 'packages': found}))\n"
)


def describe_machine(command: str, sides: Sequence[Side], settings: dict[str, Any]) -> dict[str, Any]:
    """Return what has to be known to compare this run with another one."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "command": command,
        "settings": settings,
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "commit": _commit(),
        "load_average_before": list(os.getloadavg()),
        "installed": {side: _installed(side) for side in sides},
    }


def _installed(side: Side) -> dict[str, Any]:
    done = subprocess.run(  # noqa: S603 - an interpreter of ours
        [PYTHONS[side], "-c", _ASK, *_PACKAGES], capture_output=True, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


def _commit() -> str | None:
    """Return the commit that was measured, with a plus sign if the tree differs from it; null outside a checkout."""
    try:
        commit = _git("rev-parse", "--short=12", "HEAD")
        changed = _git("status", "--porcelain", "--", "reme_compact", "config", "benchmarks")
    except (OSError, subprocess.CalledProcessError):
        return None
    return f"{commit}+" if changed else commit


def _git(*words: str) -> str:
    return subprocess.run(  # noqa: S603
        ["git", *words],  # noqa: S607 - whichever git is installed
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
