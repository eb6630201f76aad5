"""The rows about whole processes, for the terminal and for the document alike."""

from collections.abc import Callable
from typing import Any

from benchmarks.presentation import megabytes, seconds

PROCESS_COLUMNS = ("measured", "ours", "theirs")

_ROWS: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("import of the package", "import_seconds", seconds),
    ("import and construction of the step", "step_seconds", seconds),
    ("idle service, memory (RSS)", "idle_bytes", megabytes),
    ("start to first answer over HTTP", "first_answer_seconds", seconds),
    ("CLI call against a running service, nothing to ask", "cli_seconds", seconds),
    ("CLI call against a running service, local model asked", "cli_asking_seconds", seconds),
)


def process_rows(processes: dict[str, Any]) -> list[list[str]]:
    """Return one row per figure, then one per large body that was sent to our service."""
    ours, theirs = processes.get("ours", {}), processes.get("theirs", {})
    rows = [[label, *(_cell(side, key, write) for side in (ours, theirs))] for label, key, write in _ROWS]
    for load in ours.get("large_bodies", []):
        size = f"{load['pairs']:,} x {load['chars']:,} over HTTP ({megabytes(load['body_bytes'])})"
        rows.append([f"{size}: answered after", seconds(load["answered_seconds"]), ""])
        health = f"{seconds(load['slowest_health_seconds'])} of {load['health_requests']} requests"
        rows.append([f"{size}: slowest /health meanwhile", health, ""])
    return [*rows, *([label, "", value] for label, value in _why_not(theirs))]


def _cell(side: dict[str, Any], key: str, write: Callable[[float], str]) -> str:
    value = side.get(key)
    return "" if value is None else write(value)


def _why_not(theirs: dict[str, Any]) -> list[tuple[str, str]]:
    return [("service could not be measured", theirs["service_failed"])] if "service_failed" in theirs else []
