"""Weigh the local decision model against labelled evidence units.

Usage:
    python benchmarks/local_model.py UNITS.jsonl [--threshold 0.1]

Each line of the file is one unit: `scenario`, `goal`, `next_action`, `tool`, `input`, `result`, `position` and
`needed` (0 or 1). All units of a scenario form one decision request. The table says, per scenario and in all: the
share of pairs that are ranked rightly (AUC), the needed units that would be lost at the threshold, and the
unneeded ones that would be replaced. The time at the end is for one run after a first that fills the caches.
"""

import argparse
import json
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from reme_compact.decision.local.model import probabilities

Unit = dict[str, Any]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Weigh the local decision model against labelled units.")
    parser.add_argument("units", type=Path)
    parser.add_argument("--threshold", type=float, default=0.1)
    arguments = parser.parse_args()
    scenarios = read_scenarios(arguments.units)
    lines = [f"{'scenario':<18} {'units':>5} {'AUC':>6} {'needed lost':>12} {'unneeded replaced':>18}"]
    everything: list[tuple[float, bool]] = []
    for name, units in scenarios.items():
        judged = judge(units)
        everything += judged
        lines.append(row(name, judged, arguments.threshold))
    lines.append(row("all", everything, arguments.threshold))
    started = time.perf_counter()
    for units in scenarios.values():
        judge(units)
    milliseconds = (time.perf_counter() - started) * 1000
    lines.append(f"{milliseconds / len(everything):.3f} ms per unit")
    sys.stdout.write("\n".join(lines) + "\n")


def read_scenarios(path: Path) -> dict[str, list[Unit]]:
    """Group the units of a file by scenario, each in its order of events."""
    scenarios: dict[str, list[Unit]] = defaultdict(list)
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            unit = json.loads(line)
            scenarios[unit["scenario"]].append(unit)
    return {name: sorted(units, key=lambda unit: unit["position"]) for name, units in scenarios.items()}


def judge(units: list[Unit]) -> list[tuple[float, bool]]:
    """Ask the model about all units of one scenario; return each probability with its label."""
    found = probabilities(state_of(units))
    return [(found[f"t{number}"], bool(unit["needed"])) for number, unit in enumerate(units, 1)]


def state_of(units: list[Unit]) -> dict[str, Any]:
    """Build the state of one decision request, with the facts that follow from the later units."""
    later_inputs: dict[tuple[str, str], int] = defaultdict(int)
    later_results: set[str] = set()
    evidence: list[dict[str, Any]] = []
    for number, unit in reversed(list(enumerate(units, 1))):
        item = {
            "id": f"t{number}",
            "tool": unit["tool"],
            "input": unit["input"],
            "input_complete": True,
            "result": unit["result"],
            "result_complete": True,
            "result_chars": len(unit["result"]),
        }
        key = (unit["tool"], unit["input"])
        if later_inputs[key]:
            item["newer_results_for_same_input"] = later_inputs[key]
        if unit["result"] in later_results:
            item["same_result_later"] = True
        later_inputs[key] += 1
        later_results.add(unit["result"])
        evidence.append(item)
    return {
        "goal": units[0]["goal"],
        "next_action": units[0]["next_action"],
        "task_context": [],
        "task_context_complete": True,
        "evidence_units": evidence[::-1],
    }


def row(name: str, judged: list[tuple[float, bool]], threshold: float) -> str:
    """Format one line of the table."""
    needed = [probability for probability, label in judged if label]
    unneeded = [probability for probability, label in judged if not label]
    lost = sum(probability <= threshold for probability in needed)
    replaced = sum(probability <= threshold for probability in unneeded)
    return (
        f"{name:<18} {len(judged):>5} {area(needed, unneeded):>6.3f} "
        f"{f'{lost}/{len(needed)} {lost / max(1, len(needed)):.1%}':>12} "
        f"{f'{replaced}/{len(unneeded)} {replaced / max(1, len(unneeded)):.1%}':>18}"
    )


def area(needed: list[float], unneeded: list[float]) -> float:
    """Return the share of needed/unneeded pairs in which the needed unit has the higher probability."""
    won = sum((n > u) + 0.5 * (n == u) for n in needed for u in unneeded)
    return won / max(1, len(needed) * len(unneeded))


if __name__ == "__main__":
    main()
