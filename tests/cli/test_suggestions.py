"""A forgotten `@`, a forgotten key and a flag are recognised, and what is meant is shown."""

from pathlib import Path

import pytest

from reme_compact.cli.grammar import read_words
from reme_compact.cli.request_values import build_request
from reme_compact.cli.source import Source
from reme_compact.cli.suggestions import looks_like_file, meant_by_value
from reme_compact.cli.usage import UsageError

KEYS = ("goal", "messages", "request", "options", "config")


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    (tmp_path / "history.json").write_text('[{"role":"user","content":[]}]')
    (tmp_path / "whole.json").write_text('{"messages":[]}')
    (tmp_path / "plain").write_text("{}")


def refusal(assignments: dict[str, str]) -> str:
    with pytest.raises(UsageError) as caught:
        build_request(assignments)
    return caught.value.message


@pytest.mark.parametrize(
    ("assignments", "meant"),
    [
        ({"request": "whole.json"}, "did you mean request=@whole.json?"),
        ({"request": "plain"}, "did you mean request=@plain?"),
        ({"request": "elsewhere/whole"}, "did you mean request=@elsewhere/whole?"),
        ({"messages": "history.json"}, "did you mean messages=@history.json?"),
        ({"messages": "not-here.jsonl"}, "did you mean messages=@not-here.jsonl?"),
        ({"source_refs": " refs.json "}, "did you mean source_refs=@refs.json?"),
        ({"request": "@history.json"}, "the file holds a list; did you mean messages=@history.json?"),
        ({"request": "[]"}, "this is a list; did you mean messages='...'?"),
        ({"messages": "@whole.json"}, "the file holds an object; did you mean request=@whole.json?"),
    ],
)
def test_a_value_that_was_meant_otherwise(assignments: dict[str, str], meant: str) -> None:
    message = refusal(assignments)
    assert message.endswith(meant)
    assert "such as" not in message


@pytest.mark.parametrize(
    "assignments",
    [
        {"messages": "hello"},
        {"messages": "[1"},
        {"messages": "http://a/b"},
        {"messages": "@plain"},
        {"request": "a b/c"},
    ],
)
def test_no_guess_where_there_is_none(assignments: dict[str, str]) -> None:
    assert "did you mean" not in refusal(assignments)


def test_text_that_names_a_file_stays_text() -> None:
    request = build_request({"messages": "@history.json", "goal": "whole.json"})
    assert request["goal"] == "whole.json"


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("whole.json", "'whole.json': a key is missing; did you mean request=@whole.json?"),
        ("@whole.json", "'@whole.json': a key is missing; did you mean request=@whole.json?"),
        ("history.json", "did you mean messages=@history.json?"),
        ("not/here", "did you mean request=@not/here?"),
        ("mine.yaml", "did you mean config=mine.yaml?"),
        ("decision_compaction", "did you mean config=decision_compaction?"),
        ("-", "did you mean request=-?"),
        ("-v", "there is no flag '-v'; all keys are written KEY=VALUE."),
        ("--verbose", "there is no flag '--verbose'; all keys are written KEY=VALUE."),
        ("--gaol", "there is no flag '--gaol'; did you mean goal=VALUE?"),
        ("--goal", "a value is missing; write goal=VALUE."),
        ("--options.drop_threshold", "write options.drop_threshold=VALUE."),
        ("gaol", "'gaol': unknown key; did you mean goal=VALUE?"),
        ("payment", "put a value with spaces in quotes."),
        ("\x1b[0m", r"'\x1b[0m'"),
    ],
)
def test_a_word_without_a_key_is_explained(word: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_words([word], KEYS)
    assert said in caught.value.message
    assert f"{word}=VALUE" not in caught.value.message


@pytest.mark.parametrize("text", ["", "\0.json", "x" * 5000, "~nobody-of-this-name", '["a/b"]', '{"a":"b.json"}'])
def test_what_no_file_can_be_called(text: str) -> None:
    assert not looks_like_file(text)


def test_standard_input_that_belongs_to_another_key() -> None:
    assert meant_by_value("request", Source("standard_input"), "[]") == (
        "standard input holds a list; did you mean messages=-?"
    )
