"""A preview is an excerpt and a marker line, recognised again, and worth making only if it is shorter."""

import json
from typing import Any

import pytest
from histories import result, text
from hypothesis import given
from hypothesis import strategies as st

from reme_compact.history.excerpt import excerpt
from reme_compact.history.preview import is_preview, is_shorter, is_usable_source_ref, preview_text, recovery_marker

MARKER = "[Compacted output. Recover from: archive/c1]"
references = st.text(min_size=1, max_size=30).filter(is_usable_source_ref)


def _json_chars(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def test_a_preview_is_read_as_the_design_says() -> None:
    assert preview_text("short", "archive/c1", 300) == f"short\n{MARKER}"
    assert preview_text("a" * 10 + "b" * 10, "archive/c1", 9) == f"aaa\n…\nbbb\n{MARKER}"


def test_without_an_excerpt_the_marker_still_has_a_line_of_its_own() -> None:
    assert preview_text("a long text", "archive/c1", 0).splitlines()[-1] == MARKER


@given(st.text(max_size=300), references, st.integers(0, 200))
def test_every_preview_is_recognised_again_and_bounded(words: str, reference: str, preview_chars: int) -> None:
    preview = preview_text(words, reference, preview_chars)
    assert is_preview(preview)
    assert preview.endswith("\n" + recovery_marker(reference))
    assert preview == f"{excerpt(words, preview_chars)}\n[Compacted output. Recover from: {reference}]"
    assert len(preview) <= preview_chars + 1 + len(recovery_marker(reference))


@pytest.mark.parametrize(
    "words",
    [
        MARKER,
        f"x\n{MARKER}",
        f"x\r\n{MARKER}\r\n",
        f"x\n{MARKER}\n\n \t\u3000",
        "x\n[Compacted output. Recover from: ]",
        "x\n[Compacted output. Recover from:  ]",
        "x\n[Compacted output. Recover from: a]b]]",
        "x\n[Compacted output. Recover from: a] not the end]",
        "x\n[Compacted output. Recover from: \x00\ud800]",
        f"{MARKER}\n{MARKER}",
    ],
)
def test_a_marker_on_the_last_line_is_one_whatever_its_reference(words: str) -> None:
    assert is_preview(words)


@pytest.mark.parametrize(
    "words",
    [
        "",
        " \n",
        "]",
        f"{MARKER}\nmore",
        f"{MARKER} and more",
        f"more {MARKER}",
        f" {MARKER}",
        f"x\n> {MARKER}",
        "x\n[compacted output. Recover from: a]",
        "x\n[Compacted output. Recover from: a",
        "x\n[Compacted output. Recover from: a\nb]",
        "x\n[Compacted output. Recover from:]",
        "x\n[Compacted output.]",
    ],
)
def test_anything_else_is_none(words: str) -> None:
    assert not is_preview(words)


@pytest.mark.parametrize("reference", ["", " ", "\u2003", "a\nb", "\x1f", "\x7f", "\x9f", "a\ud800b", "\udfff"])
def test_a_reference_that_would_break_the_line_is_unusable(reference: str) -> None:
    assert not is_usable_source_ref(reference)


@given(st.text(max_size=200), st.integers(0, 100), references)
def test_only_what_is_shorter_as_text_and_as_json_is_worth_making(words: str, limit: int, reference: str) -> None:
    preview = preview_text(words, reference, limit)
    for output in (words, [text(words)]):
        expected = len(preview) < len(words) and _json_chars(preview) < _json_chars(output)
        assert is_shorter(preview, words, result("c1", output)) is expected


@pytest.mark.parametrize(("extra", "shorter"), [(-1, False), (0, False), (3, False), (4, True)])
def test_the_smallest_saving_counts_line_breaks_as_json_writes_them(extra: int, shorter: bool) -> None:
    preview = preview_text("x" * 200, "r", 20)
    assert preview.count("\n") == 3
    words = "x" * (len(preview) + extra)
    assert is_shorter(preview, words, result("c1", words)) is shorter


def test_the_same_length_is_not_shorter_though_its_json_is() -> None:
    words = '"' * len(preview_text('"' * 200, "r", 20))
    preview = preview_text(words, "r", 20)
    assert len(preview) == len(words)
    assert _json_chars(preview) < _json_chars(words)
    assert not is_shorter(preview, words, result("c1", words))


def test_a_reference_that_json_has_to_escape_can_cost_more_than_is_saved() -> None:
    words = "x" * 120
    preview = preview_text(words, '"' * 60, 10)
    assert len(preview) < len(words)
    assert not is_shorter(preview, words, result("c1", words))


@pytest.mark.parametrize("words", ["漢" * 400 + "\ud800" + "字" * 50, "\ud800" + "漢" * 400, "\ud800" * 500])
def test_a_lone_surrogate_anywhere_does_not_stop_the_comparison(words: str) -> None:
    assert is_shorter(preview_text(words, "r", 300), words, result("c1", words))
