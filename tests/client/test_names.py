"""What is public, and what using it loads."""

import subprocess
import sys

import pytest

import reme_compact.client
from reme_compact.client import AsyncClient
from reme_compact.contract.errors import MissingExtraError

HEAVY = "anyio h11 httpx fastapi starlette uvicorn numpy agentscope"


def loaded_by(statement: str) -> str:
    code = f"import sys\n{statement}\nprint(*[m for m in '{HEAVY} pydantic'.split() if m in sys.modules])"
    return subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout.strip()


def test_the_public_names_are_these() -> None:
    assert sorted(reme_compact.client.__all__) == [
        "AsyncClient",
        "Client",
        "Health",
        "InvalidAddressError",
        "Readiness",
        "ServiceError",
        "ServiceUnreachableError",
    ]
    assert all(hasattr(reme_compact.client, name) for name in reme_compact.client.__all__)
    assert set(reme_compact.client.__all__) <= set(dir(reme_compact.client))
    with pytest.raises(AttributeError, match="has no attribute 'Cleint'"):
        _ = reme_compact.client.Cleint


@pytest.mark.parametrize(
    ("statement", "loaded"),
    [
        ("import reme_compact.client", ""),
        ("from reme_compact.client import Client; Client()", "pydantic"),
        ("import reme_compact.cli.main, reme_compact.cli.compact_context, reme_compact.cli.watch", "pydantic"),
    ],
)
def test_neither_the_client_nor_the_command_line_loads_what_it_does_not_need(statement: str, loaded: str) -> None:
    assert loaded_by(statement) == loaded


def test_the_asynchronous_client_names_the_extra_that_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reme_compact.client.async_client.find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"reme-compact\[client\]"):
        AsyncClient()
