"""How much a compaction sends to its decision model."""

import tempfile
from pathlib import Path

from benchmarks.cases import RunSpec, Side
from benchmarks.execution import Run, execute
from benchmarks.results import Sent
from reme_compact.tokens.encodings import load_text_counter


async def execute_and_weigh(spec: RunSpec, side: Side, limit_seconds: float, *, count_tokens: bool) -> tuple[Run, Sent]:
    """Measure a run whose requests are kept and weighed afterwards.

    Raises:
        OverLimitError: the limit passed.
        MeasurementError: the process failed.
    """
    with tempfile.TemporaryDirectory(prefix="reme-bench-") as folder:
        path = Path(folder, "requests.jsonl")
        run = await execute(RunSpec(spec.case, spec.counter, spec.seed, str(path)), side, limit_seconds)
        return run, _weigh(path, count_tokens=count_tokens)


def _weigh(path: Path, *, count_tokens: bool) -> Sent:
    count = load_text_counter("o200k_base") if count_tokens else None
    requests = chars = tokens = 0
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            text = line.removesuffix("\n")
            requests += 1
            chars += len(text)
            tokens += count(text) if count is not None else 0
    return Sent(requests, chars, tokens if count is not None else None)
