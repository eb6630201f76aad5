"""The example of ten turns measures what it says, and the page about formats shows what its examples print."""

import re
import runpy
from pathlib import Path
from typing import Any, get_args

import pytest

from reme_compact.contract.formats import FormatName
from reme_compact.history.formats import answered_calls, anthropic_rules, gate, openai_chat, openai_responses_rules

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "ten_turns.py"
PAGE = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
RULES = sorted(
    value
    for module in (answered_calls, anthropic_rules, gate, openai_chat, openai_responses_rules)
    for name, value in vars(module).items()
    if name.isupper() and not name.startswith("_") and isinstance(value, str)
)


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> str:
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    return capsys.readouterr().out


def test_compaction_sends_less_and_recency_forgets(printed: str) -> None:
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in printed.splitlines()[2:]]
    tokens = {name: int(sent.replace(",", "")) for name, sent, *_ in rows}
    prices = {name: int(price.replace(",", "")) for name, _, _, price, _ in rows}
    agreed = {name: there for name, *_, there in rows}
    never, recency, compacted, worth_it = tokens
    assert tokens[recency] < tokens[compacted] < tokens[worth_it] < tokens[never]
    assert prices[worth_it] < prices[compacted] < prices[never]
    assert agreed == {never: "3 of 3", recency: "0 of 3", compacted: "3 of 3", worth_it: "3 of 3"}


def test_the_page_shows_what_it_prints(printed: str) -> None:
    assert printed in PAGE


def test_the_pages_own_example_prints_what_stands_below_it(capsys: pytest.CaptureFixture[str]) -> None:
    ((code, expected),) = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(code, "formats.md", "exec"), {"__name__": "page"})  # noqa: S102 - our own text
    assert capsys.readouterr().out == expected


@pytest.mark.parametrize("name", [*RULES, *get_args(FormatName)])
def test_the_page_names_every_format_and_every_rule(name: str) -> None:
    assert f"`{name}`" in PAGE


def test_the_meter_counts_what_is_the_same_from_the_start() -> None:
    example: dict[str, Any] = runpy.run_path(str(EXAMPLE))
    meter = example["Meter"]()
    first, second = {"role": "user", "content": "x" * 76}, {"role": "user", "content": "y" * 76}
    assert example["tokens_of"](first) == 26
    for history in ([first], [first, second], [second, second], [second, first, second]):
        meter.send(history)
    assert (meter.requests, meter.tokens) == (4, 26 * (1 + 2 + 2 + 3))
    assert meter.from_cache == 26 * (0 + 1 + 0 + 1)
    assert meter.price == pytest.approx(26 * 6 + 2.6 * 2)
