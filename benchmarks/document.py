"""Write results into a Markdown page: `python -m benchmarks.document out/bench.json docs/benchmarks.md`.

Several files of results are taken together: a case of a later run takes the place of the same case of an earlier one.

Only what stands between the two markers is replaced; what people wrote before and after them stays.
"""

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.method import METHOD
from benchmarks.presentation import megabytes
from benchmarks.process_rows import PROCESS_COLUMNS, process_rows
from benchmarks.results import Results
from benchmarks.rows import BUDGETS, COLUMNS, SENT_COLUMNS, comparison_rows, notes, sent_rows
from benchmarks.targets import judge

BEGIN = "<!-- results: begin (written by benchmarks/document.py, do not edit) -->"
END = "<!-- results: end -->"
_NEW_PAGE = f"""# Benchmarks

{BEGIN}
{END}

## Where the time goes
"""
_REQUIREMENT_COLUMNS = ("required", "measured", "verdict")


class MarkersError(ValueError):
    """A page without exactly one pair of markers in the right order."""


def main() -> None:
    """Replace the results in a page; make the page if there is none."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.document", description=__doc__)
    parser.add_argument("results", type=Path, nargs="+")
    parser.add_argument("page", type=Path)
    arguments = parser.parse_args()
    page: Path = arguments.page
    text = page.read_text(encoding="utf-8") if page.exists() else _NEW_PAGE
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(replace_results(text, render([Results.load(path) for path in arguments.results])), encoding="utf-8")


def replace_results(page: str, results: str) -> str:
    """Return a page with new text between its markers.

    Raises:
        MarkersError: the page has no such place, or more than one.
    """
    if page.count(BEGIN) != 1 or page.count(END) != 1 or page.index(BEGIN) > page.index(END):
        raise MarkersError(f"The page must hold these two lines once, in this order:\n{BEGIN}\n{END}")
    before, _, rest = page.partition(BEGIN)
    after = rest.partition(END)[2]
    return f"{before}{BEGIN}\n\n{results.strip()}\n\n{END}{after}"


def render(runs: Sequence[Results]) -> str:
    """Write all tables of one run, or of several taken together."""
    results = _together(runs)
    parts = [*(_machine(run.machine) for run in runs), METHOD, "## Requirements"]
    verdicts = [[item.requirement, item.measured, item.verdict] for item in judge(results)]
    parts.append(_table(_REQUIREMENT_COLUMNS, verdicts))
    for budget, words in BUDGETS.items():
        rows = comparison_rows(results.cases, budget)
        if rows:
            parts += [f"## Compaction {words}", _table(COLUMNS, rows)]
    missing = notes(results.cases)
    if missing:
        parts.append("Not run, or failed:\n\n" + "\n".join(f"- {note}" for note in missing))
    sent = sent_rows(results.cases)
    if sent:
        parts += ["## What the decision model is sent, without a budget", _table(SENT_COLUMNS, sent)]
    if results.processes is not None:
        parts += ["## Processes", _table(PROCESS_COLUMNS, process_rows(results.processes))]
    return "\n\n".join(parts)


def _together(runs: Sequence[Results]) -> Results:
    by_case = {result.case: result for run in runs for result in run.cases}
    processes = [run.processes for run in runs if run.processes is not None]
    return Results(runs[0].machine, list(by_case.values()), processes[-1] if processes else None)


def _machine(machine: dict[str, Any]) -> str:
    load = ", ".join(
        f"{machine[key][0]:.2f} {words}"
        for key, words in (("load_average_before", "before"), ("load_average_after", "after"))
        if machine.get(key)
    )
    commit = f" at commit `{machine['commit']}`" if machine.get("commit") else ""
    where = (
        f"{machine['processor']}, {machine['cores']} cores, {megabytes(machine['memory_bytes'])} of memory, "
        f"{machine['system']}"
    )
    lines = [
        f"Measured {machine['date']} with `{machine['command']}`{commit}.",
        "",
        f"- machine: {where}; load average {load}",
        *(f"- {side}: {_versions(found)}" for side, found in machine["installed"].items()),
    ]
    return "\n".join(lines)


def _versions(found: dict[str, Any]) -> str:
    packages = (f"{name} {version}" for name, version in found["packages"].items())
    return ", ".join([f"Python {found['python']}", *packages])


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [_line(columns), _line(["---"] * len(columns)), *(_line(row) for row in rows)]
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    main()
