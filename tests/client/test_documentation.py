"""The examples of the documentation run as they stand there, but for the address."""

import re
from pathlib import Path

import pytest

from reme_compact.client import AsyncClient, Client

DOCUMENT = Path(__file__).parents[2] / "docs" / "client.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_examples(example: str, url: str) -> None:
    address = "http://127.0.0.1:2333"
    assert address in example
    exec(compile(example.replace(address, url), "client.md", "exec"), {})  # noqa: S102 - our own text


def test_every_public_method_is_in_the_table() -> None:
    for kind in (Client, AsyncClient):
        methods = {name for name in vars(kind) if not name.startswith("_")} - {"close"}
        assert methods == {name for name in methods if re.search(rf"`{name}\(", DOCUMENT.read_text(encoding="utf-8"))}
