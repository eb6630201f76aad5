"""The readable report of a proposal."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TextIO

from rich.console import Console, Group, RenderableType
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reme_compact.cli.explanations import REASONS, RULES, failure_text, next_step
from reme_compact.cli.printable import printable, shorten

_WIDTH_OF_FILES = 120
_UNBOUNDED = Console(width=10_000)
_LONGEST = {"tool": 20, "call": 18, "reference": 30}


@dataclass(frozen=True, slots=True)
class DecisionLine:
    """One decision as the report shows it; every text is printable."""

    id: str
    tool: str
    call: str
    action: str
    probability: str
    reason: str
    detail: str
    reference: str

    @property
    def why(self) -> str:
        """Reason and detail together."""
        return f"{self.reason}: {self.detail}" if self.detail else self.reason


def print_report(response: Mapping[str, Any], file: TextIO, *, width: int | None = None) -> None:
    """Print the report of a standard response.

    Args:
        response: the standard response as plain data.
        file: where to; colours only on a terminal, and not when NO_COLOR is set.
        width: columns; null: as the terminal or COLUMNS says.

    """
    if width is None and not file.isatty() and "COLUMNS" not in os.environ:
        width = _WIDTH_OF_FILES
    console = Console(file=file, width=width, highlight=False, markup=False, emoji=False)
    result = response["answer"]
    console.print(Group(*_sections(result, decision_lines(result), console.width)))


def decision_lines(result: Mapping[str, Any]) -> list[DecisionLine]:
    """Join decisions with tool names and details, ready to be shown."""
    stats = result.get("stats") or {}
    details = stats.get("details") or {}
    names = _tool_names(result.get("messages") or [])
    lines = []
    for index, decision in enumerate(result.get("decisions") or []):
        by_position = names[index] if index < len(names) else ("", "")
        name = by_position[1] if by_position[0] == decision["call_id"] else dict(names).get(decision["call_id"], "")
        probability = decision.get("probability")
        lines.append(
            DecisionLine(
                id=printable(decision["id"]),
                tool=shorten(name, _LONGEST["tool"]),
                call=shorten(decision["call_id"], _LONGEST["call"]),
                action=printable(decision["action"]),
                probability="-" if probability is None else f"{probability:.3f}",
                reason=printable(decision["reason"]),
                detail=shorten(details.get(decision["id"], ""), 60),
                reference=shorten(decision.get("source_ref") or "", _LONGEST["reference"]),
            )
        )
    return lines


def _tool_names(messages: list[Any]) -> list[tuple[str, str]]:
    """List call id and tool name of every tool call with an id, in order of appearance."""
    return [
        (block["id"], str(block.get("name", "")))
        for message in messages
        for block in message.get("content", ())
        if block.get("type") == "tool_call" and isinstance(block.get("id"), str) and block["id"]
    ]


def _sections(result: Mapping[str, Any], lines: list[DecisionLine], width: int) -> Iterator[RenderableType]:
    stats = result.get("stats") or {}
    yield _headline(result, lines)
    yield Padding(_sizes(stats), (1, 0, 1, 2), expand=False)
    if lines:
        table = _table(lines)
        fits = Measurement.get(_UNBOUNDED, _UNBOUNDED.options, table).maximum + 2 <= width
        yield Padding(table if fits else _list(lines), (0, 0, 1, 2), expand=False)
        yield Padding(_legend(lines), (0, 0, 1, 2), expand=False)
    for failure in stats.get("errors") or []:
        yield Text(f"Decision model failed: {failure_text(failure)}", style="red")
    for warning in stats.get("warnings") or []:
        yield Text(f"Warning: {printable(warning)}", style="yellow")
    yield _labelled("Decision model", _effort(stats))
    yield _labelled("Next", next_step(result))


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
        if isinstance(before, int) and isinstance(after, int):
            saved = "" if name == "messages" else f"{(before - after) / before:.0%}" if before else "0%"
            table.add_row(label, f"{before:,}", f"{after:,}", saved)
    return table


def _tokens_label(stats: Mapping[str, Any]) -> str:
    counter = stats.get("token_counter")
    if not isinstance(counter, Mapping):
        return "tokens"
    return f"tokens ({shorten(counter.get('name'), 20)}{', approximate' if counter.get('approximate') else ''})"


def _table(lines: list[DecisionLine]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for heading in ("id", "tool", "call", "action", "needed", "reason", "reference"):
        table.add_column(heading, no_wrap=True, justify="right" if heading == "needed" else "left")
    for line in lines:
        cells = (line.id, line.tool, line.call, line.action, line.probability, line.why, line.reference)
        table.add_row(*(Text(cell) for cell in cells), style=_style(line))
    return table


def _list(lines: list[DecisionLine]) -> Group:
    shown: list[RenderableType] = []
    for line in lines:
        shown.append(Text(f"{line.id} {line.tool} {line.call}", style=_style(line)))
        needed = f"needed {line.probability}" if line.probability != "-" else ""
        facts = Text(", ".join(filter(None, (line.action, line.why, needed, line.reference))), style=_style(line))
        shown.append(Padding(facts, (0, 0, 0, 2), expand=False))
    return Group(*shown)


def _style(line: DecisionLine) -> str:
    return "green" if line.action == "preview" else ""


def _legend(lines: list[DecisionLine]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0), style="dim")
    table.add_column(no_wrap=True)
    table.add_column()
    for reason in dict.fromkeys(line.reason for line in lines):
        if reason != "protected":
            table.add_row(reason, REASONS.get(reason, ""))
    for rule in dict.fromkeys(line.detail for line in lines if line.reason == "protected"):
        table.add_row(rule or "protected", RULES.get(rule, REASONS["protected"]))
    return table


def _effort(stats: Mapping[str, Any]) -> str:
    requests, elapsed = stats.get("requests", 0), stats.get("elapsed_ms")
    asked = stats.get("asked", stats.get("candidates", 0))
    text = f"{asked} results asked about in {requests} {'request' if requests == 1 else 'requests'}"
    return f"{text}; {elapsed:,.0f} ms in all" if isinstance(elapsed, int | float) else text
