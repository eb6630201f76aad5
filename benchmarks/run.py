"""Measure all cases of a suite, ours and theirs alternately: `python -m benchmarks.run --help`."""

import argparse
import asyncio
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.cases import Case, Side, full_cases, quick_cases
from benchmarks.execution import PYTHONS, ROOT
from benchmarks.machine import describe_machine
from benchmarks.results import Results
from benchmarks.rounds import CaseRunner, Settings
from benchmarks.table import print_results

_BUDGETS = ("none", "half", "impossible")
_SHAPES = ("message_per_pair", "one_message")


def main(words: Sequence[str] | None = None) -> int:
    """Measure, print the table and keep the results; return an exit code."""
    arguments = _parser().parse_args(words)
    sides: list[Side] = [side for side in PYTHONS if side in arguments.sides]
    if "theirs" in sides and not PYTHONS["theirs"].exists():
        sys.stderr.write("The peer's environment is missing: make .venv-peer/.ready\n")
        return 2
    settings = _settings(arguments)
    command = shlex.join(["python", "-m", "benchmarks.run", *(sys.argv[1:] if words is None else words)])
    results = Results(describe_machine(arguments.command or command, sides, settings.describe()))
    runner = CaseRunner(settings, sides, report=_report)
    for case in _cases(arguments):
        results.cases.append(asyncio.run(runner.run(case)))
        results.save(arguments.out)
    if arguments.processes:
        from benchmarks.processes import measure_processes  # noqa: PLC0415 - needs the service's packages

        results.processes = measure_processes(sides, report=_report)
    results.machine["load_average_after"] = list(os.getloadavg())
    results.save(arguments.out)
    print_results(results)
    return 0


def _report(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _cases(arguments: argparse.Namespace) -> list[Case]:
    cases = quick_cases() if arguments.suite == "quick" else full_cases()
    return [
        case
        for case in cases
        if case.pairs in (arguments.pairs or [case.pairs])
        and case.chars in (arguments.chars or [case.chars])
        and case.budget in arguments.budgets
        and case.shape in arguments.shapes
    ]


def _settings(arguments: argparse.Namespace) -> Settings:
    quick = arguments.suite == "quick"
    return Settings(
        seed=arguments.seed,
        rounds=arguments.rounds or (1 if quick else 3),
        repeat_below_seconds=20,
        limit_seconds=arguments.limit or (20 if quick else 120),
        reference_limit_seconds=arguments.limit or (20 if quick else 600),
        count_sent_tokens=arguments.sent_tokens,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("--suite", choices=("full", "quick"), default="full")
    parser.add_argument("--pairs", type=int, nargs="+", help="only cases with these numbers of pairs")
    parser.add_argument("--chars", type=int, nargs="+", help="only cases with results of these sizes")
    parser.add_argument("--budgets", nargs="+", choices=_BUDGETS, default=_BUDGETS)
    parser.add_argument("--shapes", nargs="+", choices=_SHAPES, default=_SHAPES)
    parser.add_argument("--sides", nargs="+", choices=tuple(PYTHONS), default=tuple(PYTHONS))
    parser.add_argument("--rounds", type=int, help="rounds of what takes less than 20 s (3; quick: 1)")
    parser.add_argument("--limit", type=float, help="seconds per compaction, past which it is ended")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--sent-tokens", action=argparse.BooleanOptionalAction, default=True, help="count o200k tokens of requests"
    )
    parser.add_argument(
        "--processes", action=argparse.BooleanOptionalAction, default=False, help="also measure services and commands"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "bench.json")
    parser.add_argument("--command", help="what was typed, for the document")
    return parser


if __name__ == "__main__":
    sys.exit(main())
