"""What `make` says when a machine is not ready, without setting anything up."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="no make here")


def make(*words: str) -> subprocess.CompletedProcess[str]:
    program = shutil.which("make") or "make"
    return subprocess.run(  # noqa: S603 - our own Makefile
        [program, "--no-print-directory", "-C", str(ROOT), *words],
        capture_output=True,
        check=False,
        timeout=60,
        text=True,
        env={name: value for name, value in os.environ.items() if not name.startswith("MAKE")},
    )


def fake_python(folder: Path, script: str) -> str:
    """Write a program that answers what the Makefile asks of a Python."""
    program = folder / "python"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return str(program)


def test_make_alone_lists_the_targets() -> None:
    done = make()
    assert done.returncode == 0
    for target in ("demo", "test", "check", "run", "clean"):
        assert f"make {target} " in done.stdout


@pytest.mark.parametrize(
    ("script", "named"),
    [
        ('case "$*" in *version_info*) exit 1;; *) echo Python 3.9.2;; esac', "this is Python 3.9.2"),
        ('case "$*" in *ensurepip*) exit 1;; esac', "apt-get install python3-venv"),
    ],
    ids=["too old", "no venv"],
)
def test_a_python_that_will_not_do_is_explained(script: str, named: str, tmp_path: Path) -> None:
    done = make("demo", f"PYTHON={fake_python(tmp_path, script)}", f"VENV={tmp_path / 'venv'}")
    assert done.returncode != 0
    assert named in done.stderr + done.stdout
    assert not (tmp_path / "venv").exists()


def test_a_missing_python_is_explained(tmp_path: Path) -> None:
    done = make("test", "PYTHON=no-such-python", f"VENV={tmp_path / 'venv'}")
    assert done.returncode != 0
    assert "Cannot find no-such-python" in done.stdout
