"""`reme api_key`: a key that is shown once, and settings with which the service knows it."""

import hashlib
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from reme_compact.cli.api_key import describe_key
from reme_compact.cli.exit_codes import ExitCode
from reme_compact.cli.main import main
from reme_compact.presets.load import load_preset
from reme_compact.service.authentication import KnownKeys

REME = str(Path(sys.executable).with_name("reme"))
OWN = "abcdefghijklmnopqrstuvwxyz0123456789"


def made(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["api_key", *words]) == ExitCode.PROPOSAL
    output = capsys.readouterr()
    assert output.err == ""
    return output.out


def key_in(text: str) -> str:
    [key] = re.findall(r"^  (reme_[A-Za-z0-9_-]{43})$", text, re.MULTILINE)
    return str(key)


def yaml_in(text: str) -> Any:
    [lines] = re.findall(r"^service:\n(?: +.*\n)+", text, re.MULTILINE)
    return yaml.safe_load(lines)


def test_a_new_key_is_shown_once_with_the_lines_that_make_the_service_know_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text = made(capsys, "name=team-1")
    key = key_in(text)
    assert text.count(key) == 1
    settings = yaml_in(text)
    assert settings == {"service": {"api_keys": {"team-1": {"sha256": hashlib.sha256(key.encode()).hexdigest()}}}}
    preset = tmp_path / "mine.yaml"
    preset.write_text(yaml.safe_dump({"extends": "decision_compaction", **settings}))
    found = KnownKeys(load_preset(str(preset)).service.api_keys).find(key.encode())
    assert found is not None
    assert found.name == "team-1"


def test_the_override_makes_the_service_know_it_too(capsys: pytest.CaptureFixture[str]) -> None:
    text = made(capsys)
    [override] = re.findall(r"^  reme start (\S+)$", text, re.MULTILINE)
    path, _, value = override.partition("=")
    found = KnownKeys(load_preset(overrides={path: value}).service.api_keys).find(key_in(text).encode())
    assert found is not None
    assert found.name == "default"


def test_every_key_is_another(capsys: pytest.CaptureFixture[str]) -> None:
    assert len({key_in(made(capsys)) for _ in range(20)}) == 20


@pytest.mark.parametrize("name", ["12", "true", "null", "1e3", "0x1F", "_"])
def test_a_name_or_hash_that_looks_like_something_else_stays_text(name: str) -> None:
    text = describe_key(name, OWN, is_new=True) + "\n"
    assert list(yaml_in(text)["service"]["api_keys"]) == [name]


def test_a_name_with_a_dot_has_no_override(capsys: pytest.CaptureFixture[str]) -> None:
    text = made(capsys, "name=ci.main")
    assert "ci.main" in yaml_in(text)["service"]["api_keys"]
    assert "reme start" not in text


@pytest.mark.parametrize("source", ["-", "@key.txt"])
def test_a_key_of_one_s_own_is_hashed_and_not_shown(
    source: str, reme: Callable[..., subprocess.CompletedProcess[bytes]], tmp_path: Path
) -> None:
    (tmp_path / "key.txt").write_text(OWN + "\n")
    done = reme("api_key", "name=own", f"key={source}", input=OWN.encode() + b"\n", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    text = done.stdout.decode()
    assert OWN not in text
    assert yaml_in(text)["service"]["api_keys"]["own"]["sha256"] == hashlib.sha256(OWN.encode()).hexdigest()


@pytest.mark.parametrize("content", ["", "short", "a" * 23, "a b" * 20, "ä" * 30, f"{OWN}\n{OWN}"])
def test_a_key_that_is_short_or_no_token_is_refused_and_not_repeated(
    content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "key.txt").write_text(content, encoding="utf-8")
    assert main(["api_key", "key=@key.txt"]) == ExitCode.USAGE
    output = capsys.readouterr()
    assert output.out == ""
    assert "key: must be at least 24 letters" in output.err
    assert not content or content not in output.err


def test_a_key_on_the_command_line_is_refused_and_not_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["api_key", f"key={OWN}"]) == ExitCode.USAGE
    complaint = capsys.readouterr().err
    assert "key=-" in complaint
    assert OWN not in complaint


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["name="], "name: must be 1 to 64 letters"),
        (["name=a b"], "name: must be 1 to 64 letters"),
        (["name=anonymous"], "not 'anonymous'"),
        (["name=" + "a" * 65], "name: must be 1 to 64 letters"),
        (["nmae=x"], "did you mean 'name'?"),
        (["key=@missing.txt"], "there is no file 'missing.txt'"),
        (["name=a", "name=b"], "name: is given twice"),
    ],
)
def test_a_mistake_is_named(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["api_key", *words]) == ExitCode.USAGE
    output = capsys.readouterr()
    assert output.out == ""
    assert told in output.err


def test_the_help_names_every_key_and_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "api_key"]) == ExitCode.PROPOSAL
    text = capsys.readouterr().out
    assert "\n  name  " in text
    assert "\n  key   " in text
    assert main(["--help"]) == ExitCode.PROPOSAL
    assert "reme api_key" in capsys.readouterr().out


def test_a_name_may_come_from_a_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "name.txt").write_text("team-2\n")
    assert "team-2" in yaml_in(made(capsys, "name=@name.txt"))["service"]["api_keys"]


def test_standard_input_is_for_one_key(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["api_key", "name=-", "key=-"]) == ExitCode.USAGE
    assert "key: standard input is already read for name" in capsys.readouterr().err


def test_a_key_that_nobody_saw_was_not_made(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    assert main(["api_key"]) == ExitCode.FAILURE
    complaint = capsys.readouterr().err
    assert complaint.startswith(
        "reme: output_failed: Standard output cannot be written (it is closed). The key is lost"
    )
    assert "reme_" not in complaint


def test_a_process_whose_output_nobody_can_get_fails() -> None:
    end_that_is_closed, output = os.pipe()
    os.close(end_that_is_closed)
    unread = subprocess.run([REME, "api_key"], stdout=output, stderr=subprocess.PIPE, check=False, timeout=60)  # noqa: S603 - ours
    os.close(output)
    assert unread.returncode == ExitCode.FAILURE
    assert b"nobody reads it any more" in unread.stderr
    closed = subprocess.run(  # noqa: S603 - ours
        ["/bin/sh", "-c", f"{shlex.quote(REME)} api_key >&-"], stderr=subprocess.PIPE, check=False, timeout=60
    )
    assert closed.returncode == ExitCode.FAILURE
    assert b"it is closed" in closed.stderr
