"""YAML is read so that it means what it says, and errors never quote the file."""

from pathlib import Path
from typing import Any

import pytest

from reme_compact.contract.errors import ConfigurationError
from reme_compact.presets.yaml_text import read_yaml_file, read_yaml_value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("4", 4),
        ("-1", -1),
        ("0.5", 0.5),
        ("1e3", 1000.0),
        ("true", True),
        ("null", None),
        ("~", None),
        ("", None),
        ("[1, two]", [1, "two"]),
        ('{"a": 1}', {"a": 1}),
        ("'4'", "4"),
        ("on", "on"),
        ("yes", "yes"),
        ("12:30", "12:30"),
        ("2026-11-30", "2026-11-30"),
        ("007", "007"),
        ("sk-1_000", "sk-1_000"),
    ],
)
def test_scalars(text: str, value: Any) -> None:
    read = read_yaml_value(text)
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    "text", ["[1", "*alias", "!!python/object/apply:os.getcwd []", "{a: 1, a: 2}", r'"\UFFFFFFFF"', "!!int abc"]
)
def test_what_is_not_plain_yaml_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not valid YAML"):
        read_yaml_value(text)


def test_a_refused_value_says_why() -> None:
    with pytest.raises(ValueError, match=r"is not valid YAML or JSON \(a key stands twice\)"):
        read_yaml_value("{hidden: 1, hidden: 2}")


def _read(folder: Path, text: str | bytes) -> dict[str, Any]:
    file = folder / "preset.yaml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_yaml_file(file)


def _refusal(folder: Path, text: str | bytes) -> str:
    with pytest.raises(ConfigurationError) as caught:
        _read(folder, text)
    assert str(folder / "preset.yaml") in caught.value.message
    return caught.value.message


def test_an_empty_file_is_an_empty_mapping(tmp_path: Path) -> None:
    assert _read(tmp_path, "# nothing yet\n") == {}


def test_anchors_and_merge_keys_work(tmp_path: Path) -> None:
    assert _read(tmp_path, "a: &a {x: 1}\nb:\n  <<: *a\n  y: 2\n")["b"] == {"x": 1, "y": 2}


def test_a_syntax_error_names_the_line_and_quotes_nothing(tmp_path: Path) -> None:
    message = _refusal(tmp_path, "service:\n  port: 1\n  key: 'hidden\n")
    assert "line 4" in message
    assert "hidden" not in message
    message = _refusal(tmp_path, "key: *hidden\n")
    assert "line 1" in message
    assert "hidden" not in message


def test_a_duplicate_key_is_refused_with_its_line(tmp_path: Path) -> None:
    message = _refusal(tmp_path, "service:\n  port: 1\n  port: 2\n")
    assert "line 3" in message
    assert "stands twice" in message


def test_a_key_that_is_not_text_is_refused(tmp_path: Path) -> None:
    assert "not text" in _refusal(tmp_path, "1: x\n")


def test_a_list_is_no_preset(tmp_path: Path) -> None:
    assert "mapping" in _refusal(tmp_path, "- 1\n")


def test_other_encodings_are_refused(tmp_path: Path) -> None:
    assert "UTF-8" in _refusal(tmp_path, b"a: \xff\n")


def test_a_byte_order_mark_is_harmless(tmp_path: Path) -> None:
    assert _read(tmp_path, b"\xef\xbb\xbfa: 1\n") == {"a": 1}


def test_what_is_refused_is_named_with_its_place(tmp_path: Path) -> None:
    message = _refusal(tmp_path, "service:\n  port: !!int hidden\n")
    assert ", line 2, column 9: cannot be used: tags such as !!int are not supported." in message
    assert "hidden" not in message
    assert "too deeply" in _refusal(tmp_path, "a: " + "[" * 5000 + "]" * 5000)


def test_an_escape_that_names_no_character_is_refused(tmp_path: Path) -> None:
    assert "is not valid YAML" in _refusal(tmp_path, r'a: "\UFFFFFFFF"')


def test_a_file_that_can_be_no_preset_is_not_read_whole(tmp_path: Path) -> None:
    assert "is larger than a preset may be" in _refusal(tmp_path, "#" * 1024 * 1024 + "\n")
