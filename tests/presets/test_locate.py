"""Presets are found by name or by path, and a wrong name says which exist."""

import errno
from pathlib import Path

import pytest

from reme_compact.contract.errors import ConfigurationError
from reme_compact.presets.locate import locate_preset, packaged_presets


def test_a_name_finds_a_packaged_preset() -> None:
    assert locate_preset("decision_compaction").name == "decision_compaction.yaml"
    assert set(packaged_presets()) >= {"default", "decision_compaction"}


@pytest.mark.parametrize("spelling", ["mine.yaml", "./mine.yaml", "sub/../mine.yaml"])
def test_a_path_is_read_from_the_working_directory(
    spelling: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "mine.yaml").touch()
    monkeypatch.chdir(tmp_path)
    assert locate_preset(spelling).samefile(tmp_path / "mine.yaml")


def test_a_path_object_is_a_path_whatever_its_name(tmp_path: Path) -> None:
    file = tmp_path / "decision_compaction"
    file.touch()
    assert locate_preset(file) == file


def test_a_relative_path_starts_beside_the_file_that_mentions_it(tmp_path: Path) -> None:
    (tmp_path / "base.yml").touch()
    assert locate_preset("base.yml", beside=tmp_path / "mine.yaml") == tmp_path / "base.yml"


def test_an_unknown_name_lists_what_exists_and_the_closest() -> None:
    with pytest.raises(ConfigurationError) as caught:
        locate_preset("decision_compation")
    assert "Did you mean 'decision_compaction'?" in caught.value.message
    assert "default" in caught.value.message


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="There is no preset file"):
        locate_preset(str(tmp_path / "absent.yaml"))


def test_a_folder_is_not_a_preset(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="There is no preset file"):
        locate_preset(tmp_path)


@pytest.mark.parametrize("beside", [None, Path("/tmp/mine.yaml")])  # noqa: S108 - nothing is read there
@pytest.mark.parametrize(
    "name", ["a" * 300 + ".yaml", "a/" * 3000 + "b.yaml", "~nobody-of-this-name/x.yaml", "\0.yaml"]
)
def test_a_name_that_no_file_can_have_is_a_missing_file(name: str, beside: Path | None) -> None:
    with pytest.raises(ConfigurationError, match=r"^There is no preset file ") as caught:
        locate_preset(name, beside=beside)
    assert len(caught.value.message) < 300
    assert caught.value.message.endswith(".yaml.")


def test_a_long_name_is_cut(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        locate_preset("a" * 1_000_000)
    assert len(caught.value.message) < 300


def test_a_folder_that_must_not_be_looked_into_is_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(_: Path) -> bool:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "is_file", forbidden)
    with pytest.raises(ConfigurationError, match=r"mine\.yaml cannot be read \(Permission denied\)\.$"):
        locate_preset(tmp_path / "mine.yaml")


def test_an_installed_package_brings_its_presets_and_a_checkout_its_config(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "reme_compact"
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "default.yaml").touch()
    monkeypatch.setattr("reme_compact.presets.locate.files", lambda _: package)
    assert packaged_presets() == {}
    (tmp_path / "pyproject.toml").touch()
    assert packaged_presets() == {"default": tmp_path / "config" / "default.yaml"}
    (package / "_presets").mkdir(parents=True)
    (package / "_presets" / "default.yaml").touch()
    assert packaged_presets() == {"default": package / "_presets" / "default.yaml"}
