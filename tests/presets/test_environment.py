"""`.env` in the working directory is read, the real environment wins, and neither is changed."""

import os
from pathlib import Path

import pytest

from reme_compact.contract.errors import ConfigurationError
from reme_compact.presets.environment import read_environment


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REME_TEST_REAL", "real")


def test_the_real_environment_wins_over_dotenv() -> None:
    Path(".env").write_text("REME_TEST_REAL=file\nREME_TEST_FILE=file\n")
    before = dict(os.environ)
    values = read_environment()
    assert values["REME_TEST_REAL"] == "real"
    assert values["REME_TEST_FILE"] == "file"
    assert dict(os.environ) == before


def test_values_of_dotenv_are_taken_as_they_stand() -> None:
    Path(".env").write_text("export REME_TEST_FILE='a ${REME_TEST_REAL} $b'\nREME_TEST_NAME_ONLY\n")
    values = read_environment()
    assert values["REME_TEST_FILE"] == "a ${REME_TEST_REAL} $b"
    assert "REME_TEST_NAME_ONLY" not in values


def test_without_dotenv_the_real_environment_serves() -> None:
    assert read_environment() == dict(os.environ)


def test_a_folder_named_dotenv_is_not_read() -> None:
    Path(".env").mkdir()
    assert read_environment() == dict(os.environ)


def test_a_deleted_working_directory_has_no_dotenv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert read_environment() == dict(os.environ)


def test_dotenv_in_another_encoding_is_refused_by_name() -> None:
    Path(".env").write_bytes(b"KEY=\xff\xfe\n")
    with pytest.raises(ConfigurationError, match=r"\.env: is not UTF-8"):
        read_environment()
