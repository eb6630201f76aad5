"""Print results on a terminal: `python -m benchmarks.table out/bench.json`."""

import argparse
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from benchmarks.process_rows import PROCESS_COLUMNS, process_rows
from benchmarks.results import Results
from benchmarks.rows import BUDGETS, COLUMNS, SENT_COLUMNS, comparison_rows, notes, sent_rows
from benchmarks.targets import judge

_WIDTH_OF_A_FILE = 200


def main() -> None:
    """Print the results of a file."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.table", description=__doc__)
    parser.add_argument("results", type=Path)
    print_results(Results.load(parser.parse_args().results))


def print_results(results: Results) -> None:
    """Print one table of all cases, then what was sent, the processes, and the requirements."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _WIDTH_OF_A_FILE
    comparison = _table("ours / theirs; times, memory and stalls are medians", COLUMNS)
    for budget, words in BUDGETS.items():
        rows = comparison_rows(results.cases, budget)
        if rows:
            comparison.add_section()
            comparison.add_row(Text(words, style="bold"))
            _fill(comparison, rows)
    console.print(comparison)
    for note in notes(results.cases):
        console.print(Text(f"  {note}"))
    sent = sent_rows(results.cases)
    if sent:
        console.print(_fill(_table("decision requests without a budget, ours / theirs", SENT_COLUMNS), sent))
    if results.processes is not None:
        console.print(_fill(_table("processes", PROCESS_COLUMNS), process_rows(results.processes)))
    verdicts = [[item.requirement, item.measured, item.verdict] for item in judge(results)]
    console.print(_fill(_table("requirements", ("required", "measured", "verdict")), verdicts))


def _table(title: str, columns: tuple[str, ...]) -> Table:
    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _fill(table: Table, rows: list[list[str]]) -> Table:
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table


if __name__ == "__main__":
    main()
