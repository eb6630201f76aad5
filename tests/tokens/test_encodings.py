"""Encodings come from the files that are shipped, placed where tiktoken looks, without a download."""

from pathlib import Path

import pytest
import tiktoken
import tiktoken.registry

from reme_compact.contract.errors import ConfigurationError, MissingExtraError
from reme_compact.tokens import encodings
from reme_compact.tokens.encodings import ENCODINGS, load_text_counter


@pytest.fixture(autouse=True)
def _nothing_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    load_text_counter.cache_clear()
    monkeypatch.setattr(tiktoken.registry, "ENCODINGS", {})
    monkeypatch.delenv("DATA_GYM_CACHE_DIR", raising=False)


def _set_cache(monkeypatch: pytest.MonkeyPatch, folder: object) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(folder))


@pytest.mark.parametrize("name", ENCODINGS)
def test_an_empty_cache_is_filled(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "new" / "cache"
    _set_cache(monkeypatch, folder)
    assert load_text_counter(name)("hello world") == 2
    assert [path.name for path in folder.iterdir()] == [ENCODINGS[name]]


def test_a_filled_cache_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _set_cache(monkeypatch, tmp_path)
    load_text_counter("o200k_base")
    before = (tmp_path / ENCODINGS["o200k_base"]).stat()
    load_text_counter.cache_clear()
    load_text_counter("o200k_base")
    after = (tmp_path / ENCODINGS["o200k_base"]).stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_a_cache_that_is_turned_off_is_a_configuration_error(monkeypatch: pytest.MonkeyPatch) -> None:
    _set_cache(monkeypatch, "")
    with pytest.raises(ConfigurationError, match="TIKTOKEN_CACHE_DIR"):
        load_text_counter("o200k_base")


def test_a_cache_that_cannot_be_written_is_a_configuration_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.touch()
    _set_cache(monkeypatch, file / "cache")
    with pytest.raises(ConfigurationError, match="cannot be written"):
        load_text_counter("o200k_base")


def test_without_the_shipped_files_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: str) -> Path:
        raise ModuleNotFoundError

    monkeypatch.setattr(encodings, "files", missing)
    _set_cache(monkeypatch, tmp_path)
    with pytest.raises(MissingExtraError, match="tokenizers"):
        load_text_counter("cl100k_base")
