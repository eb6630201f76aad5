import pytest
from hypothesis import given
from hypothesis import strategies as st

from reme_compact.cli.grammar import read_words
from reme_compact.cli.source import Source, escape, find_source
from reme_compact.cli.usage import UsageError


def test_words_are_keys_and_values_in_order() -> None:
    assert list(read_words(["b=2", "--a=1", "c.d=x=y", "e="]).items()) == [
        ("b", "2"),
        ("a", "1"),
        ("c.d", "x=y"),
        ("e", ""),
    ]


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["goal"], "goal=VALUE"),
        (["--goal", "Fix it"], "goal=VALUE"),
        (["=x"], "KEY=VALUE"),
        (["--=x"], "KEY=VALUE"),
        ([""], "KEY=VALUE"),
        (["source_refs.=x"], "KEY=VALUE"),
        ([".goal=x"], "KEY=VALUE"),
        (["goal=a", "goal=b"], "goal: is given twice"),
        (["goal=a", "--goal=a"], "goal: is given twice"),
        (["goal=a\udcff"], "goal: the value is not valid UTF-8"),
    ],
)
def test_a_word_that_is_no_assignment_is_refused(words: list[str], named: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_words(words)
    assert named in caught.value.message


def test_a_refusal_does_not_repeat_the_value() -> None:
    with pytest.raises(UsageError) as caught:
        read_words(["=s3cret"])
    assert "s3cret" not in caught.value.message


@pytest.mark.parametrize(
    ("value", "source"),
    [
        ("text", Source("literal", "text")),
        ("", Source("literal", "")),
        ("@notes.txt", Source("file", "notes.txt")),
        ("@", Source("file", "")),
        ("@@home", Source("literal", "@home")),
        ("@@@x", Source("literal", "@@x")),
        ("-", Source("standard_input")),
        (r"\-", Source("literal", "-")),
        (r"\\-", Source("literal", r"\-")),
        ("--", Source("literal", "--")),
        ("-x", Source("literal", "-x")),
        (r"\n", Source("literal", r"\n")),
        ("a@b", Source("literal", "a@b")),
    ],
)
def test_a_value_says_where_it_comes_from(value: str, source: Source) -> None:
    assert find_source(value) == source


texts = st.text(st.characters(exclude_categories=["Cs"])) | st.text("@\\-=x", max_size=6)


@given(texts)
def test_every_text_can_be_written_as_a_value(text: str) -> None:
    assignments = read_words([f"goal={escape(text)}"])
    assert find_source(assignments["goal"]) == Source("literal", text)


@given(st.dictionaries(st.from_regex(r"[a-z_]+(\.[^.=\s][^=]*)?", fullmatch=True), texts))
def test_every_assignment_survives_writing_and_reading(assignments: dict[str, str]) -> None:
    assert read_words([f"--{key}={value}" for key, value in assignments.items()]) == assignments
