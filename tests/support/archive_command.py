"""Calls of `reme archive`, and what they write."""

import json
from typing import Any

import pytest

from reme_compact.cli.exit_codes import ExitCode
from reme_compact.cli.main import main


def said(capfd: pytest.CaptureFixture[str], *words: str, exit_code: ExitCode = ExitCode.PROPOSAL) -> str:
    """Return what a command writes for people."""
    assert main(["archive", *words, "output=text"]) == exit_code
    return capfd.readouterr().out


def told(capfd: pytest.CaptureFixture[str], *words: str, exit_code: ExitCode = ExitCode.PROPOSAL) -> Any:
    """Return what a command writes for programs."""
    assert main(["archive", *words, "output=json"]) == exit_code
    return json.loads(capfd.readouterr().out)
