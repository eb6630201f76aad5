"""Measure jobs, embedded and distributed, and hold them against their limits: `make bench-jobs`.

Everything runs on this machine, over loopback and unix sockets, with a decision model that only pauses.
"""

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from benchmarks.jobs_large import measure_large
from benchmarks.jobs_recovery import measure_recovery
from benchmarks.jobs_rows import Row
from benchmarks.jobs_throughput import measure_throughput
from benchmarks.machine import describe_machine

_COLUMNS = ("measured", "value", "limit", "verdict", "note")
_WIDTH_OF_A_FILE = 200
_PARTS: dict[str, tuple[Callable[[int, Callable[[str], None]], list[Row]], int]] = {
    "throughput": (measure_throughput, 7),
    "large": (measure_large, 3),
    "recovery": (measure_recovery, 3),
}
"""What is measured, and how often."""


def main() -> None:
    """Measure, print one table, write everything down."""
    arguments = _arguments()
    chosen = arguments.only or list(_PARTS)
    settings = {"parts": chosen, "rounds": {part: _PARTS[part][1] for part in chosen}}
    machine = describe_machine("make bench-jobs", ["ours"], settings)
    rows: list[Row] = []
    for part in chosen:
        measure, rounds = _PARTS[part]
        rows += measure(rounds, _say)
    _print(rows)
    document = {"machine": machine, "rows": [{**asdict(row), "verdict": row.verdict} for row in rows]}
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    _say(f"written to {arguments.out}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.jobs", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=_PARTS, help="leave the other parts out")
    parser.add_argument("--out", type=Path, default=Path("out/jobs.json"))
    return parser.parse_args()


def _print(rows: list[Row]) -> None:
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _WIDTH_OF_A_FILE
    table = Table(title="jobs; medians", title_justify="left")
    for column in _COLUMNS:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row.cells()))
    console.print(table)


def _say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)  # noqa: T201 - progress of a command


if __name__ == "__main__":
    main()
