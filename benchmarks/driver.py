"""What both sides do in their own process: make the input, warm up, compact, report."""

import asyncio
import gc
import hashlib
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.cases import Case, RunSpec
from benchmarks.counting import HostCounter
from benchmarks.histories import History, Request, build_history
from benchmarks.instant import InstantModel
from benchmarks.measure import Measured, measure, take_standard_output

Answer: TypeAlias = dict[str, Any]
Compact: TypeAlias = Callable[[Request], Coroutine[Any, Any, Answer]]
MakeCompact: TypeAlias = Callable[[InstantModel, HostCounter, RunSpec], Compact]

_WARM_UP_PAIRS = 8
_LONG_TIMEOUT_SECONDS = 3600
_REPEATED_BELOW_SECONDS = 0.25
_REPEATED_FOR_SECONDS = 0.75
_MOST_REPEATS = 40


def drive(make_compact: MakeCompact) -> None:
    """Measure the run that the command line describes; write events as JSON lines on standard output.

    The events are `ready` (the time limit starts), `figures`, and `sent` if the requests were written to a file.
    """
    channel = take_standard_output()
    asyncio.run(_Run(RunSpec.from_json(sys.argv[1]), make_compact, channel).perform())


class _Run:
    def __init__(self, spec: RunSpec, make_compact: MakeCompact, channel: int) -> None:
        self._spec = spec
        self._channel = channel
        self._counter = HostCounter(spec.case.shape)
        self._model = InstantModel(max(spec.case.pairs, _WARM_UP_PAIRS), keep_requests=spec.sent_path is not None)
        self._compact = make_compact(self._model, self._counter, spec)

    async def perform(self) -> None:
        first_call_seconds = await self._warm_up()
        history = self._history(self._spec.case.pairs)
        request = history.request(options_for(self._spec.case, self._counter, history))
        self._reset()
        self._tell("ready")
        first = await measure(lambda: self._compact(request), self._counter)
        figures = self._figures(first, history)
        figures["first_call_seconds"] = first_call_seconds
        repeats = [_times(first)]
        first.result.clear()
        repeats += await self._repeat(request, first.wall_seconds)
        figures.update({name: statistics.median(times[name] for times in repeats) for name in repeats[0]})
        figures["repeats"] = len(repeats)
        self._tell("figures", **figures)
        if self._spec.sent_path is not None:
            self._tell("sent", requests=self._model.write_requests(Path(self._spec.sent_path)))

    async def _repeat(self, request: Request, wall_seconds: float) -> list[dict[str, float]]:
        """Compact again and again what takes too little time to be measured once."""
        repeats: list[dict[str, float]] = []
        if self._spec.sent_path is not None or wall_seconds >= _REPEATED_BELOW_SECONDS:
            return repeats
        while wall_seconds < _REPEATED_FOR_SECONDS and len(repeats) < _MOST_REPEATS:
            measured = await measure(lambda: self._compact(request), self._counter)
            wall_seconds += measured.wall_seconds
            repeats.append(_times(measured))
        return repeats

    async def _warm_up(self) -> float:
        """Compact a tiny history, so that what is loaded on first use is loaded; return how long that took."""
        history = self._history(_WARM_UP_PAIRS)
        request = history.request(options_for(self._spec.case, self._counter, history))
        started = time.perf_counter()
        await self._compact(request)
        return time.perf_counter() - started

    def _history(self, pairs: int) -> History:
        return build_history(pairs, self._spec.case.chars, self._spec.case.shape, self._spec.seed)

    def _reset(self) -> None:
        self._counter.reset()
        self._model.reset()
        gc.collect()

    def _figures(self, measured: Measured[Answer], history: History) -> dict[str, Any]:
        answer = measured.result
        previewed = [decision["id"] for decision in answer["decisions"] if decision["action"] == "preview"]
        return {
            "requests": self._model.requests,
            "questions": self._model.questions,
            "counter_calls": self._counter.calls,
            "counter_seconds": self._counter.seconds,
            "decisions": len(answer["decisions"]),
            "previews": len(previewed),
            "preview_digest": hashlib.sha256(" ".join(previewed).encode()).hexdigest()[:16],
            "reason": answer["reason"],
            "budget_met": answer["budget_met"],
            "tokens_before": self._counter.total(history.messages),
            "tokens_after": self._counter.total(answer["messages"]),
        }

    def _tell(self, event: str, **fields: Any) -> None:
        os.write(self._channel, (json.dumps({"event": event, **fields}) + "\n").encode())


def options_for(case: Case, counter: HostCounter, history: History) -> dict[str, Any]:
    """Return the options of a compaction: the defaults, the budget of the case, and no deadline."""
    options: dict[str, Any] = {"total_timeout_seconds": _LONG_TIMEOUT_SECONDS}
    if case.shape == "one_message":
        options["preserve_recent_messages"] = 1
    if case.budget == "half":
        options["max_output_tokens"] = max(1, counter.total(history.messages) // 2)
    elif case.budget == "impossible":
        options["max_output_tokens"] = 1
    return options


def _times(measured: Measured[Answer]) -> dict[str, float]:
    return {
        "wall_seconds": measured.wall_seconds,
        "cpu_seconds": measured.cpu_seconds,
        "peak_bytes": measured.peak_bytes,
        "stall_seconds": measured.stall_seconds,
        "own_stall_seconds": measured.own_stall_seconds,
    }
