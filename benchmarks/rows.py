"""The rows of the comparison, for the terminal and for the document alike."""

from collections.abc import Callable, Sequence

from benchmarks.cases import Budget
from benchmarks.presentation import count, ended, megabytes, seconds, wall_ratio
from benchmarks.results import CaseResult, Figures, Outcome

_BETWEEN = " / "
_PAIRED = {"ours": "theirs", "ours_additive": "theirs_opaque", "ours_opaque": "theirs_opaque"}
_NAMES = {"ours": "none", "ours_additive": "additive", "ours_opaque": "opaque"}

BUDGETS: dict[Budget, str] = {
    "none": "without a budget",
    "half": "with a budget of half the tokens",
    "impossible": "with a budget that cannot be met",
}
COLUMNS = (
    "pairs x characters",
    "counter",
    "wall",
    "times",
    "CPU",
    "peak memory",
    "requests",
    "counter calls",
    "in counter",
    "loop stalled",
    "less counter",
    "previews",
)
SENT_COLUMNS = ("pairs x characters", "requests", "characters sent", "o200k tokens sent", "tokens, theirs / ours")


def comparison_rows(results: Sequence[CaseResult], budget: Budget) -> list[list[str]]:
    """Return one row per case and kind of counter, each cell `ours / theirs`."""
    rows: list[list[str]] = []
    for result in results:
        if result.case.budget != budget:
            continue
        if result.skipped:
            rows.append([result.case.size, "", f"skipped: {result.skipped}", *[""] * (len(COLUMNS) - 3)])
        rows += [
            _row(result, ours, theirs)
            for ours, theirs in _PAIRED.items()
            if ours in result.outcomes or (theirs in result.outcomes and (ours == "ours" or budget != "none"))
        ]
    return rows


def sent_rows(results: Sequence[CaseResult]) -> list[list[str]]:
    """Return one row per case whose decision requests were weighed on either side."""
    rows = []
    for result in results:
        ours, theirs = result.outcomes.get("ours"), result.outcomes.get("theirs")
        mine, other = (outcome.sent if outcome is not None else None for outcome in (ours, theirs))
        if mine is None and other is None:
            continue
        saved = ""
        if mine is not None and other is not None and mine.tokens and other.tokens:
            saved = f"{other.tokens / mine.tokens:.2f}"
        cells = [
            _cell(*(None if sent is None else getattr(sent, name) for sent in (mine, other)))
            for name in ("requests", "chars", "tokens")
        ]
        rows.append([result.case.size, *cells, saved])
    return rows


def notes(results: Sequence[CaseResult]) -> list[str]:
    """Explain every cell that says `not run` or `failed`."""
    return [
        f"{result.case.size}, {BUDGETS[result.case.budget]}, {name.replace('_', ', ')}: {outcome.note}"
        for result in results
        for name, outcome in result.outcomes.items()
        if outcome.note
    ]


def _row(result: CaseResult, ours: str, theirs: str) -> list[str]:
    outcomes = result.outcomes.get(ours), result.outcomes.get(theirs)
    ratio = wall_ratio(result, ours, theirs)

    def both(write: Callable[[Figures], str]) -> str:
        return _join(*(write(outcome.figures) if outcome and outcome.figures else "" for outcome in outcomes))

    return [
        result.case.size,
        _NAMES[ours],
        _join(*(_wall(outcome) for outcome in outcomes)),
        str(ratio) if ratio is not None else "",
        both(lambda figures: seconds(figures.cpu_seconds)),
        both(lambda figures: megabytes(figures.peak_bytes)),
        both(lambda figures: count(figures.requests)),
        both(lambda figures: count(figures.counter_calls)),
        both(lambda figures: seconds(figures.counter_seconds)),
        both(lambda figures: seconds(figures.stall_seconds)),
        both(lambda figures: seconds(figures.own_stall_seconds)),
        _previews(*(outcome.figures if outcome else None for outcome in outcomes)),
    ]


def _previews(ours: Figures | None, theirs: Figures | None) -> str:
    """Show that both did the same: how many results were replaced, whether the same ones, whether the budget is met."""
    if ours is None or theirs is None:
        return " / ".join(_done(figures) for figures in (ours, theirs) if figures is not None)
    if ours.preview_digest == theirs.preview_digest and ours.budget_met == theirs.budget_met:
        return f"same {_done(ours)}"
    return f"{_done(ours)} / {_done(theirs)}"


def _done(figures: Figures) -> str:
    fits = {None: "", True: ", fits", False: ", too large"}[figures.budget_met]
    return f"{figures.previews:,}{fits}"


def _wall(outcome: Outcome | None) -> str:
    return seconds(outcome.figures.wall_seconds) if outcome and outcome.figures else ended(outcome)


def _cell(ours: int | None, theirs: int | None) -> str:
    return _join(count(ours), count(theirs))


def _join(ours: str, theirs: str) -> str:
    return f"{ours or '-'}{_BETWEEN}{theirs or '-'}" if ours or theirs else ""
