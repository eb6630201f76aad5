"""Measure whole processes: import, idle service, first answer, command line, and a service under a large body."""

import json
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.cases import Side
from benchmarks.execution import PYTHONS, clean_environment
from benchmarks.large_body import measure_large_body
from benchmarks.services import ServiceError, call_command, post, running

_TIMES = 5
_SETTLING_SECONDS = 3.0
_IMPORTS: dict[Side, str] = {"ours": "import reme_compact", "theirs": "import reme"}
_STEPS: dict[Side, str] = {
    "ours": "from reme_compact import CompactContextStep; CompactContextStep()",
    "theirs": "from reme.steps.compaction import CompactContextStep; CompactContextStep()",
}
_BODY_SHAPES = (20_000, 2_000)

_GOAL = "Fix payment retries"
_RESULT = "icons/cart.svg icons/user.svg icons/bell.svg\n" * 40
_MESSAGES = [
    {"role": "user", "content": [{"type": "text", "text": "Retries charge twice, fix them"}]},
    {
        "role": "assistant",
        "content": [
            {"type": "tool_call", "id": "c1", "name": "search_code", "input": "{}", "state": "finished"},
            {"type": "tool_result", "id": "c1", "name": "search_code", "output": _RESULT, "state": "success"},
        ],
    },
    {"role": "user", "content": [{"type": "text", "text": "Now look at the payment code"}]},
]
_NOTHING_TO_ASK = {"goal": _GOAL, "messages": _MESSAGES}
_ONE_TO_ASK = {
    **_NOTHING_TO_ASK,
    "source_refs": {"c1": "archive/demo/c1"},
    "eligible_tool_names": ["search_code"],
    "options": {"preserve_recent_messages": 1},
}


def measure_processes(sides: Sequence[Side], report: Callable[[str], None]) -> dict[str, Any]:
    """Return the figures of each side by name; times in seconds, the best of five where a call is short."""
    measured: dict[str, Any] = {}
    for side in sides:
        figures: dict[str, Any] = {
            "import_seconds": _seconds_of(side, _IMPORTS[side]),
            "step_seconds": _seconds_of(side, _STEPS[side]),
        }
        report(f"processes: {side} imported")
        try:
            figures.update(_service(side))
        except ServiceError as error:
            figures["service_failed"] = str(error)
        report(f"processes: {side} service done")
        measured[side] = figures
    if "ours" in measured:
        measured["ours"]["large_bodies"] = []
        for chars in _BODY_SHAPES:
            measured["ours"]["large_bodies"].append(measure_large_body(chars))
            report(f"processes: large body with results of {chars:,} characters done")
    return measured


def _seconds_of(side: Side, statement: str) -> float:
    """Run a statement in fresh processes and return its best time, the start of the interpreter not included."""
    code = f"import time; started = time.perf_counter(); {statement}; print(time.perf_counter() - started)"
    command = [str(PYTHONS[side]), "-c", code]
    with tempfile.TemporaryDirectory(prefix="reme-bench-") as folder:  # the peer writes its logs there
        done = [
            subprocess.run(  # noqa: S603 - an interpreter of ours
                command, cwd=folder, env=clean_environment(), capture_output=True, text=True, check=True
            )
            for _ in range(_TIMES)
        ]
    return min(float(run.stdout.splitlines()[-1]) for run in done)


def _service(side: Side) -> dict[str, float]:
    figures: dict[str, float] = {}
    with running(side) as service:
        time.sleep(_SETTLING_SECONDS)
        figures["idle_bytes"] = service.resident_bytes
        figures["cli_seconds"] = min(call_command(side, service.port, _words(_NOTHING_TO_ASK)) for _ in range(_TIMES))
        if side == "ours":
            words = _words(_ONE_TO_ASK)
            figures["cli_asking_seconds"] = min(call_command(side, service.port, words) for _ in range(_TIMES))
    with running(side) as service:
        figures["first_answer_seconds"] = _seconds_to_first_answer(service.port, service.started)
    return figures


def _seconds_to_first_answer(port: int, started: float) -> float:
    status, _ = post(port, "/compact_context", json.dumps(_NOTHING_TO_ASK).encode())
    if status != 200:
        raise ServiceError(f"the first answer had status {status}")
    return time.perf_counter() - started


def _words(request: dict[str, Any]) -> list[str]:
    return [f"{key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in request.items()]
