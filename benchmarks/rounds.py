"""Measure one case: all variants alternately, as many rounds as their speed allows."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.cases import Case, RunSpec, Side, Variant, variants_of
from benchmarks.execution import MeasurementError, OverLimitError, execute
from benchmarks.presentation import seconds
from benchmarks.results import CaseResult, Outcome, Sent, combine
from benchmarks.sent import execute_and_weigh
from benchmarks.targets import REFERENCE_CASES


@dataclass(frozen=True, slots=True)
class Settings:
    """How thoroughly to measure.

    Attributes:
        rounds: how often a variant is measured that takes less than `repeat_below_seconds`; others once.
        limit_seconds: past which a compaction is ended.
        reference_limit_seconds: the same, for the cases at which a ratio is required.
        count_sent_tokens: count the tokens of decision requests, not only their characters.
    """

    seed: int
    rounds: int
    repeat_below_seconds: float
    limit_seconds: float
    reference_limit_seconds: float
    count_sent_tokens: bool

    def describe(self) -> dict[str, Any]:
        """Return the settings as plain data."""
        return asdict(self)

    def limit_for(self, case: Case) -> float:
        """Return the seconds that a compaction of this case may take."""
        return self.reference_limit_seconds if case in REFERENCE_CASES else self.limit_seconds


class CaseRunner:
    """Measures cases one after the other, and leaves out what a smaller case showed to be too slow."""

    def __init__(self, settings: Settings, sides: Sequence[Side], report: Callable[[str], None]) -> None:
        self._settings = settings
        self._sides = sides
        self._report = report
        self._over_limit: list[tuple[Side, str, Case]] = []

    async def run(self, case: Case) -> CaseResult:
        """Measure a case. The input of every process is generated anew from the same seed."""
        result = CaseResult(case)
        if case.too_large:
            result.skipped = "input over 500 MB"
            return result
        variants = variants_of(case, self._sides)
        runs: dict[str, list[dict[str, Any]]] = {variant.name: [] for variant in variants}
        sent: dict[str, Sent] = {}
        for number in range(self._settings.rounds):
            for variant in variants:
                if variant.name in result.outcomes or (number and not self._is_fast(runs[variant.name])):
                    continue
                ended = self._known_to_be_slow(case, variant) or await self._measure(
                    case, variant, runs[variant.name], sent
                )
                if ended is not None:
                    result.outcomes[variant.name] = ended
        for variant in variants:
            done = runs[variant.name]
            if variant.name not in result.outcomes:
                rounds = [run["wall_seconds"] for run in done]
                result.outcomes[variant.name] = Outcome(
                    "measured", figures=combine(done), sent=sent.get(variant.name), rounds=rounds
                )
            self._report(f"{case.size}, budget {case.budget}: {variant.name} {_summary(result, variant)}")
        return result

    def _is_fast(self, runs: list[dict[str, Any]]) -> bool:
        return bool(runs) and runs[0]["wall_seconds"] < self._settings.repeat_below_seconds

    def _known_to_be_slow(self, case: Case, variant: Variant) -> Outcome | None:
        for side, counter, slow in self._over_limit:
            comparable = side == variant.side and counter in ("none", variant.counter)
            if comparable and case.includes(slow) and self._settings.limit_for(case) <= self._settings.limit_for(slow):
                return Outcome("not_run", note=f"over the limit at {slow.size}, budget {slow.budget}")
        return None

    async def _measure(
        self, case: Case, variant: Variant, runs: list[dict[str, Any]], sent: dict[str, Sent]
    ) -> Outcome | None:
        """Measure once; return how it ended if it gave no figures."""
        spec = RunSpec(case, variant.counter, self._settings.seed)
        limit = self._settings.limit_for(case)
        weigh = case.budget == "none" and variant.name not in sent
        try:
            if weigh:
                weighed, sent[variant.name] = await execute_and_weigh(
                    spec, variant.side, limit, count_tokens=self._settings.count_sent_tokens
                )
                # The peer holds all its requests from beginning to end, so that keeping them changes nothing there.
                if variant.side == "theirs":
                    runs.append(weighed.figures)
                    return None
            runs.append((await execute(spec, variant.side, limit)).figures)
        except OverLimitError:
            self._over_limit.append((variant.side, variant.counter, case))
            return Outcome("over_limit", limit_seconds=limit)
        except MeasurementError as error:
            return Outcome("failed", note=str(error))
        return None


def _summary(result: CaseResult, variant: Variant) -> str:
    outcome = result.outcomes[variant.name]
    if outcome.figures is not None:
        return seconds(outcome.figures.wall_seconds)
    if outcome.limit_seconds is not None:
        return f"more than {seconds(outcome.limit_seconds)}"
    return f"{outcome.status}: {outcome.note}"
