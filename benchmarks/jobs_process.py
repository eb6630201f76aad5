"""One process of a measured deployment: `python -m benchmarks.jobs_process service|worker|supervisor|core`.

Its decision model pauses for `REME_BENCH_PAUSE` seconds and then finds everything irrelevant, so that what is
measured is ours.
"""

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from reme_compact.decision import backends
from reme_compact.decision.protocol import BinaryAnswer, DecisionResponse, Questions, State
from reme_compact.decision.settings import DecisionModelSettings

PAUSE = "REME_BENCH_PAUSE"
PRESET = "REME_BENCH_PRESET"
"""Name of the preset and overrides of a service, as JSON."""

_PROBABILITY = 0.03


class PausingModel:
    """Answers after a pause, and says in its usage how long that really was."""

    backend = "pausing"
    model_name: str | None = None

    def __init__(self, pause_seconds: float) -> None:
        self._pause_seconds = pause_seconds

    async def __call__(self, state: State, questions: Questions, /) -> DecisionResponse:
        """Answer every question alike."""
        del state
        began = time.perf_counter()
        if self._pause_seconds:
            await asyncio.sleep(self._pause_seconds)
        content = dict.fromkeys(questions, BinaryAnswer(_PROBABILITY))
        return DecisionResponse(content, usage={"seconds": time.perf_counter() - began})

    async def aclose(self) -> None:
        """Do nothing."""


def main() -> int:
    """Run the role that the arguments name."""
    role, *rest = sys.argv[1:]
    backends.BUILDERS["local"] = _build
    if role == "service":
        return _serve()
    if role == "core":
        print(json.dumps(_compact(*rest)))  # noqa: T201 - read by whoever started this process
        return 0
    return _work(is_supervised=role == "supervisor")


def _build(settings: DecisionModelSettings) -> PausingModel:
    del settings
    return PausingModel(float(os.environ[PAUSE]))


def _serve() -> int:
    from reme_compact.presets.load import load_preset  # noqa: PLC0415 - the other roles do without
    from reme_compact.service.server import serve  # noqa: PLC0415

    told: dict[str, Any] = json.loads(os.environ[PRESET])
    _end_with_parent()
    serve(load_preset(told["config"], overrides=told["overrides"]))
    return 0


def _work(*, is_supervised: bool) -> int:
    from reme_workers import supervision, worker_process  # noqa: PLC0415 - needs the extra
    from reme_workers.worker_arguments import WorkerArguments  # noqa: PLC0415

    if not is_supervised:
        return worker_process.main()
    _end_with_parent()
    worker: Any = (sys.executable, "-m", "benchmarks.jobs_process", "worker")
    supervision.WORKER_COMMAND = worker
    arguments = WorkerArguments.from_environment()
    return supervision.supervise(arguments.preset, arguments.role, arguments.concurrency, arguments.pool)


def _end_with_parent() -> None:
    from reme_workers.parent_death import end_with_parent  # noqa: PLC0415 - needs the extra

    end_with_parent()


def _compact(path: str) -> dict[str, Any]:
    """Compact the request in a file with the step of the preset, and say how long that took."""
    from reme_compact.presets.assemble import assemble_job  # noqa: PLC0415 - the other roles do without
    from reme_compact.presets.load import load_preset  # noqa: PLC0415

    request = json.loads(Path(path).read_bytes())

    async def measured() -> tuple[float, dict[str, Any]]:
        step = assemble_job(load_preset("decision_compaction"), "compact_context")
        began = time.perf_counter()
        answer = (await step(**request)).answer
        return time.perf_counter() - began, answer

    took, answer = asyncio.run(measured())
    return {"seconds": took, "requests": answer["stats"]["requests"], "candidates": answer["stats"]["candidates"]}


if __name__ == "__main__":
    sys.exit(main())
