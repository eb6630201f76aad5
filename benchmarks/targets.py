"""What is required of ours, and whether a run met it."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from benchmarks.cases import Case
from benchmarks.presentation import megabytes, seconds, wall_ratio
from benchmarks.results import CaseResult, Figures, Results

Verdict: TypeAlias = Literal["met", "not met", "not decided", "not measured"]

_FASTER: tuple[tuple[Case, str, str, float], ...] = (
    (Case(1_000, 2_000), "ours", "theirs", 100),
    (Case(1_000, 200), "ours", "theirs", 100),
    (Case(5_000, 20_000), "ours", "theirs", 50),
    (Case(5_000, 2_000, "half"), "ours_additive", "theirs_opaque", 500),
)
REFERENCE_CASES = frozenset(case for case, *_ in _FASTER)
"""The cases at which a ratio is required; they get the longest limit, so that the ratio is known."""

_LARGEST_FOR_STALLS = (5_000, 20_000)
_LONGEST_STALL_SECONDS = 0.050
_LARGEST_PEAK_SHARE = 0.5
_FLATNESS = 1.5


@dataclass(frozen=True, slots=True)
class Judgement:
    """One requirement, what was measured, and the verdict."""

    requirement: str
    measured: str
    verdict: Verdict


def judge(results: Results) -> list[Judgement]:
    """Return all requirements with what the results say about them."""
    return [
        *(_faster(results, *reference) for reference in _FASTER),
        _counter_calls(results),
        _requests(results),
        _peak(results),
        *_flat(results),
        _stall(results),
        *_processes(results),
    ]


def _faster(results: Results, case: Case, ours: str, theirs: str, times: float) -> Judgement:
    budget = "without a budget" if case.budget == "none" else "with a 50 % budget and an additive counter"
    requirement = f"at least {times:g} times faster at {case.size} {budget}"
    result = results.of(case)
    ratio = wall_ratio(result, ours, theirs) if result is not None else None
    if ratio is None:
        return Judgement(requirement, "", "not measured")
    verdict: Verdict = "met" if ratio.value >= times else "not decided" if ratio.is_lower_bound else "not met"
    return Judgement(requirement, f"{ratio} times", verdict)


def _counter_calls(results: Results) -> Judgement:
    requirement = "no more counter calls than theirs with an opaque counter"
    return _in_every_case(
        requirement,
        results,
        [("ours_opaque", "theirs_opaque")],
        lambda ours, theirs: ours.counter_calls / max(1, theirs.counter_calls),
        lambda ours, theirs: f"{ours.counter_calls:,} against {theirs.counter_calls:,}",
        most=1,
    )


def _requests(results: Results) -> Judgement:
    return _in_every_case(
        "never more requests",
        results,
        [("ours", "theirs"), ("ours_additive", "theirs_opaque"), ("ours_opaque", "theirs_opaque")],
        lambda ours, theirs: ours.requests / max(1, theirs.requests),
        lambda ours, theirs: f"{ours.requests} against {theirs.requests}",
        most=1,
    )


def _peak(results: Results) -> Judgement:
    return _in_every_case(
        "peak memory above the input at most half",
        results,
        [("ours", "theirs"), ("ours_additive", "theirs_opaque"), ("ours_opaque", "theirs_opaque")],
        lambda ours, theirs: ours.peak_bytes / max(1, theirs.peak_bytes),
        lambda ours, theirs: f"{megabytes(ours.peak_bytes)} against {megabytes(theirs.peak_bytes)}",
        most=_LARGEST_PEAK_SHARE,
    )


def _in_every_case(
    requirement: str,
    results: Results,
    variants: Iterable[tuple[str, str]],
    share: Callable[[Figures, Figures], float],
    write: Callable[[Figures, Figures], str],
    *,
    most: float,
) -> Judgement:
    """Judge by the case in which ours does worst against theirs."""
    compared = [
        (share(ours, theirs), result.case, write(ours, theirs))
        for result, ours, theirs in _both(results.cases, list(variants))
    ]
    if not compared:
        return Judgement(requirement, "", "not measured")
    worst, case, written = max(compared, key=lambda item: item[0])
    kept = sum(value <= most for value, *_ in compared)
    measured = f"in {kept} of {len(compared)}; worst: {written} ({case.size}, budget {case.budget})"
    return Judgement(requirement, measured, "met" if worst <= most else "not met")


def _both(
    cases: Iterable[CaseResult], variants: list[tuple[str, str]]
) -> Iterator[tuple[CaseResult, Figures, Figures]]:
    for result in cases:
        for ours, theirs in variants:
            mine, other = result.figures(ours), result.figures(theirs)
            if mine is not None and other is not None:
                yield result, mine, other


def _flat(results: Results) -> list[Judgement]:
    """Judge the time per pair without a budget, for each size of result, over all numbers of pairs."""
    judgements = []
    for chars in (200, 2_000, 20_000):
        requirement = f"time per pair flat within {_FLATNESS:g} times from 100 to 20,000 pairs of {chars:,} characters"
        per_pair: dict[int, float] = {}
        for result in results.cases:
            figures = result.figures("ours")
            if figures is not None and result.case == Case(result.case.pairs, chars):
                per_pair[result.case.pairs] = figures.wall_seconds / result.case.pairs
        if not {100, 20_000} <= per_pair.keys():
            judgements.append(Judgement(requirement, "", "not measured"))
            continue
        spread = max(per_pair.values()) / min(per_pair.values())
        growth = max(per_pair.values()) / per_pair[100]
        written = ", ".join(f"{1e6 * value:.0f}" for _, value in sorted(per_pair.items()))
        measured = f"{spread:.2f} times ({written} µs per pair; most over that of 100 pairs: {growth:.2f})"
        judgements.append(Judgement(requirement, measured, "met" if spread <= _FLATNESS else "not met"))
    return judgements


def _stall(results: Results) -> Judgement:
    requirement = "no event-loop stall over 50 ms at 5,000 x 20,000, time inside the host's counter excepted"
    stalls = [
        (figures.own_stall_seconds, f"{name}, budget {result.case.budget}")
        for result in results.cases
        if (result.case.pairs, result.case.chars) == _LARGEST_FOR_STALLS
        for name in ("ours", "ours_additive", "ours_opaque")
        if (figures := result.figures(name)) is not None
    ]
    if not stalls:
        return Judgement(requirement, "", "not measured")
    longest, where = max(stalls)
    verdict: Verdict = "met" if longest <= _LONGEST_STALL_SECONDS else "not met"
    return Judgement(requirement, f"longest of {len(stalls)}: {seconds(longest)} ({where})", verdict)


def _processes(results: Results) -> Iterator[Judgement]:
    ours = (results.processes or {}).get("ours", {})
    yield _below("`import reme_compact` under 0.3 s", ours.get("import_seconds"), 0.3, seconds)
    yield _below(
        "a CLI call against a running service under 0.5 s",
        _largest(ours.get("cli_seconds"), ours.get("cli_asking_seconds")),
        0.5,
        seconds,
    )
    yield _below("idle service under 80 MB with the local model", ours.get("idle_bytes"), 80e6, megabytes)
    loads = ours.get("large_bodies", [])
    slowest = max((load["slowest_health_seconds"] for load in loads), default=None)
    yield _below("`/health` within 300 ms while a 60 MB body is compacted over HTTP", slowest, 0.3, seconds)


def _largest(*values: float | None) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _below(requirement: str, value: float | None, limit: float, write: Callable[[float], str]) -> Judgement:
    if value is None:
        return Judgement(requirement, "", "not measured")
    return Judgement(requirement, write(value), "met" if value < limit else "not met")
