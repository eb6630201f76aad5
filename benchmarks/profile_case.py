"""Profile one compaction of ours: `python -m benchmarks.profile_case 5000 2000 --budget half --counter additive`.

The step's worker threads are replaced by the main thread for this, because the profiler sees only one. The time
without the profiler comes first, so that it can be told how much the profiler distorts.
"""

import argparse
import asyncio
import cProfile
import gc
import pstats
import sys
import time
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

from anyio import to_thread

from benchmarks.cases import Case, CounterKind, RunSpec
from benchmarks.counting import HostCounter
from benchmarks.driver import options_for
from benchmarks.histories import build_history
from benchmarks.instant import InstantModel
from benchmarks.ours import make_compact


def main() -> None:
    """Print where the time of one case goes."""
    arguments = _parser().parse_args()
    counter_kind: CounterKind = "none" if arguments.budget == "none" else arguments.counter
    case = Case(arguments.pairs, arguments.chars, arguments.budget, arguments.shape)
    spec = RunSpec(case, counter_kind, arguments.seed)
    counter = HostCounter(case.shape)
    model = InstantModel(max(case.pairs, 8), keep_requests=False)
    compact = make_compact(model, counter, spec)
    history = build_history(case.pairs, case.chars, case.shape, spec.seed)
    request = history.request(options_for(case, counter, history))
    warm_up = build_history(8, case.chars, case.shape, spec.seed)
    asyncio.run(compact(warm_up.request(options_for(case, counter, warm_up))))

    counter.reset()
    gc.collect()
    started = time.perf_counter()
    asyncio.run(compact(request))
    sys.stdout.write(
        f"{case.size}, budget {case.budget}, counter {counter_kind}: {time.perf_counter() - started:.3f} s without "
        f"the profiler, {counter.seconds:.3f} s of it in {counter.calls:,} calls of the host's counter\n"
    )
    profile = cProfile.Profile()
    with patch.object(to_thread, "run_sync", _run_here), profile:
        asyncio.run(compact(request))
    statistics = pstats.Stats(profile, stream=sys.stdout).strip_dirs()
    for order in arguments.sort:
        statistics.sort_stats(order).print_stats(arguments.top)


async def _run_here(function: Callable[..., Any], *arguments: Any, **_: Any) -> Any:
    """Stand in for `anyio.to_thread.run_sync`."""
    return function(*arguments)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.profile_case", description="Profile one compaction.")
    parser.add_argument("pairs", type=int)
    parser.add_argument("chars", type=int)
    parser.add_argument("--budget", choices=("none", "half", "impossible"), default="none")
    parser.add_argument("--counter", choices=("additive", "opaque"), default="additive")
    parser.add_argument("--shape", choices=("message_per_pair", "one_message"), default="message_per_pair")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sort", nargs="+", choices=("tottime", "cumtime", "ncalls"), default=("tottime", "cumtime"))
    parser.add_argument("--top", type=int, default=20)
    return parser


if __name__ == "__main__":
    main()
