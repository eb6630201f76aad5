"""The readable report of a proposal."""

import os
from collections.abc import Iterator, Mapping
from typing import Any, TextIO

from rich.console import Console, Group, RenderableType
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reme_compact.cli.advice import next_step
from reme_compact.cli.console import OwnConsole
from reme_compact.cli.decision_lines import DecisionLine, decision_lines
from reme_compact.cli.explanations import REASONS, RULES, failure_text, warnings_beyond_failures
from reme_compact.cli.printable import cut, printable, shorten
from reme_compact.cli.readable_stats import readable_stats
from reme_compact.cli.sent import option, understood

_WIDTH_OF_FILES = 160
_UNBOUNDED = Console(width=10_000)
_HEADINGS = ("id", "tool", "call", "action", "needed", "reason", "reference")
_GAP = 2
_NARROWEST_EXPLANATION = 24


def print_report(
    response: Mapping[str, Any], file: TextIO, *, request: Mapping[str, Any] | None = None, width: int | None = None
) -> None:
    """Print the report of a standard response.

    Args:
        response: the standard response as plain data.
        file: where to; colours only on a terminal, and not when NO_COLOR is set.
        request: what was sent, for the advice at the end; null when it is not known.
        width: columns; null: as the terminal or COLUMNS says.

    """
    if width is None and not file.isatty() and "COLUMNS" not in os.environ:
        width = _WIDTH_OF_FILES
    console = OwnConsole(file=file, width=width, highlight=False, markup=False, emoji=False)
    result = {**response["answer"], "stats": readable_stats(response["answer"])}
    known = None if request is None else understood(request)
    console.print(Group(*_sections(result, known, console.width)))


def _sections(result: Mapping[str, Any], request: Mapping[str, Any] | None, width: int) -> Iterator[RenderableType]:
    stats = result["stats"]
    lines = decision_lines(result, option(request or {}, "drop_threshold"))
    yield _headline(result, lines)
    yield Padding(_sizes(stats), (1, 0, 1, 2), expand=False)
    if lines:
        yield Padding(_decisions(lines, width - _GAP), (0, 0, 1, _GAP), expand=False)
        yield Padding(_legend(lines, request), (0, 0, 1, 2), expand=False)
    for failure in stats.get("errors") or []:
        yield Text(f"Decision model failed, its results are kept: {failure_text(failure)}", style="red")
    for warning in warnings_beyond_failures(stats):
        yield Text(f"Warning: {printable(warning)}", style="yellow")
    yield _labelled("Decision model", _effort(stats))
    yield _labelled("Next", next_step(result, request))


def _labelled(label: str, text: str) -> Text:
    return Text.assemble((f"{label}: ", "bold"), text)


def _headline(result: Mapping[str, Any], lines: list[DecisionLine]) -> Text:
    replaced = sum(line.action == "preview" for line in lines)
    counted = f"{replaced} of {len(lines)} tool results become previews" if lines else "no tool calls"
    budget = {True: ", budget met", False: ", budget NOT met"}.get(result.get("budget_met"), "")  # type: ignore[arg-type]
    style = "bold green" if result.get("changed") else "bold"
    return Text.assemble((f"Proposal: {printable(result.get('reason'))}", style), f" ({counted}{budget})")


def _sizes(stats: Mapping[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("")
    for heading in ("before", "after", "saved"):
        table.add_column(heading, justify="right")
    for label, name in (("characters", "chars"), (_tokens_label(stats), "tokens"), ("messages", "messages")):
        before, after = stats.get(f"{name}_before"), stats.get(f"{name}_after")
        if before is not None and after is not None:
            saved = "" if name == "messages" else f"{(before - after) / before:.0%}" if before else "0%"
            table.add_row(label, f"{before:,}", f"{after:,}", saved)
    return table


def _tokens_label(stats: Mapping[str, Any]) -> str:
    counter = stats.get("token_counter")
    if counter is None:
        return "tokens"
    return f"tokens ({shorten(counter.get('name'), 20)}{', approximate' if counter.get('approximate') else ''})"


def _decisions(lines: list[DecisionLine], width: int) -> RenderableType:
    """Show decisions as a table, or if that is too wide in two lines each."""
    table = _table(lines)
    room = width - Measurement.get(_UNBOUNDED, _UNBOUNDED.options, table).maximum
    longest = max(len(line.explanation) for line in lines)
    if longest and room >= _GAP + min(longest, _NARROWEST_EXPLANATION):
        return _table(lines, explanation_width=room - _GAP)
    return table if not longest and room >= 0 else _list(lines, width)


def _table(lines: list[DecisionLine], *, explanation_width: int = 0) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, _GAP, 0, 0))
    for heading in (*_HEADINGS, "explanation") if explanation_width else _HEADINGS:
        table.add_column(heading, no_wrap=True, justify="right" if heading == "needed" else "left")
    for line in lines:
        cells = [line.id, line.tool, line.call, line.action, line.probability, line.why, line.reference]
        if explanation_width:
            cells.append(cut(line.explanation, explanation_width))
        table.add_row(*(Text(cell) for cell in cells), style=_style(line))
    return table


def _list(lines: list[DecisionLine], width: int) -> Group:
    shown: list[RenderableType] = []
    for line in lines:
        title = f"{line.id} {line.tool} {line.call}"
        if line.explanation:
            room = width - len(title) - _GAP
            title += f": {cut(line.explanation, room) if room >= _NARROWEST_EXPLANATION else line.explanation}"
        shown.append(Text(title, style=_style(line)))
        needed = f"needed {line.probability}" if line.probability != "-" else ""
        facts = Text(", ".join(filter(None, (line.action, line.why, needed, line.reference))), style=_style(line))
        shown.append(Padding(facts, (0, 0, 0, 2), expand=False))
    return Group(*shown)


def _style(line: DecisionLine) -> str:
    return "green" if line.action == "preview" else ""


def _legend(lines: list[DecisionLine], request: Mapping[str, Any] | None) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0), style="dim")
    table.add_column(no_wrap=True)
    table.add_column()
    for reason in dict.fromkeys(line.reason for line in lines):
        if reason != "protected":
            meaning = REASONS.get(reason, "")
            known = request is not None and meaning.endswith("drop_threshold")
            table.add_row(reason, f"{meaning} ({option(request or {}, 'drop_threshold'):g})" if known else meaning)
    for rule in dict.fromkeys(line.detail for line in lines if line.reason == "protected"):
        table.add_row(rule or "protected", RULES.get(rule, REASONS["protected"]))
    return table


def _effort(stats: Mapping[str, Any]) -> str:
    requests, elapsed = stats.get("requests", 0), stats.get("elapsed_ms")
    asked = stats.get("asked", stats.get("candidates", 0))
    text = f"{asked} results asked about in {requests} {'request' if requests == 1 else 'requests'}"
    return text if elapsed is None else f"{text}; {elapsed:,.0f} ms in all"
