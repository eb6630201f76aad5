"""The README shows what works today: its examples run, and its tables are complete."""

import re
from pathlib import Path
from typing import get_args

import pytest

from reme_compact import CompactionOptions, CompactionRequest
from reme_compact.cli.explanations import RULES
from reme_compact.contract.result import DecisionReason, ResultReason

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_python_examples_run(example: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(example, "README.md", "exec"), {"__name__": "readme"})  # noqa: S102 - our own text
    printed = capsys.readouterr().out
    if "print(" in example:
        assert "c1 preview low_relevance" in printed
        assert printed.rstrip().endswith("[Compacted output. Recover from: archive/run-7/c1]")


def test_every_option_stands_there_with_its_default() -> None:
    for name, field in CompactionOptions.model_fields.items():
        default = "null" if field.default is None else field.default
        assert f"| `{name}` | {default} |" in README


def test_every_request_key_reason_and_rule_is_explained() -> None:
    names = [*CompactionRequest.model_fields, *get_args(DecisionReason), *get_args(ResultReason), *RULES]
    assert [name for name in names if f"`{name}`" not in README] == []
