"""An integration whose framework is not installed names the extra that brings it."""

import importlib
import sys

import pytest

from reme_compact.contract.errors import MissingExtraError

MODULES = [
    ("agentscope_compaction", "agentscope", "agentscope"),
    ("agentscope_recovery", "agentscope", "agentscope"),
    ("langchain_compaction", "langchain", "langchain"),
    ("langchain_recovery", "langchain_core", "langchain"),
]


@pytest.mark.parametrize(("module", "framework", "extra"), MODULES)
def test_the_extra_is_named(module: str, framework: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"reme_compact.integrations.{module}"
    for loaded in [known for known in sys.modules if known == name or known.partition(".")[0] == framework]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, framework, None)
    with pytest.raises(MissingExtraError, match=rf"\[{extra}\]"):
        importlib.import_module(name)
