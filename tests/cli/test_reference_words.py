"""A reference is recognised wherever it was copied from, and nothing else is taken for one."""

import pytest

from reme_compact.cli.reference_words import is_reference, read_reference_words, reference_of
from reme_compact.cli.usage import UsageError

REFERENCE = f"archive/{'a1' * 16}/{'b2' * 32}"
MARKER = f"[Compacted output. Recover from: {REFERENCE}]"


@pytest.mark.parametrize("text", [REFERENCE, f" {REFERENCE}\n", MARKER, f'"{REFERENCE}"', f"{MARKER} {REFERENCE}"])
def test_it_may_come_with_the_words_around_it(text: str) -> None:
    assert reference_of({"ref": text}) == REFERENCE


@pytest.mark.parametrize("word", [REFERENCE, MARKER, f"ref={REFERENCE}", f"--ref={MARKER}"])
def test_it_may_be_a_word_of_its_own(word: str) -> None:
    assert reference_of(read_reference_words([word], ("ref",))) == REFERENCE


def test_it_may_come_from_a_file() -> None:
    with open("ref.txt", "w", encoding="utf-8") as file:  # noqa: PTH123 - the folder of the test
        file.write(f"{MARKER}\n")
    assert reference_of(read_reference_words(["ref=@ref.txt"], ("ref",))) == REFERENCE


@pytest.mark.parametrize(
    "text",
    [
        "archive/demo/c1",
        f"../{REFERENCE}",
        f"/{REFERENCE}",
        f"{REFERENCE}0",
        f"{REFERENCE}/..",
        f"{REFERENCE}%2f",
        REFERENCE.upper(),
        f"{REFERENCE} {REFERENCE[:-1]}0",
        "\x1b[2J",
        "a" * 100_000,
    ],
)
def test_anything_else_is_refused_and_not_repeated(text: str) -> None:
    assert not is_reference(text)
    with pytest.raises(UsageError) as caught:
        reference_of({"ref": text})
    assert caught.value.message.startswith("ref: This is not a reference into the archive.")
    assert len(caught.value.message) < 400


def test_one_is_enough() -> None:
    with pytest.raises(UsageError, match="ref: is given twice"):
        read_reference_words([REFERENCE, f"ref={REFERENCE}"], ("ref",))


def test_empty_values_count_as_absent() -> None:
    assert read_reference_words(["ref=", "grep= "], ("ref", "grep")) == {"grep": " "}
