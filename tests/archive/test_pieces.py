"""Pieces of a text: never inside a grapheme, and joined they are the text."""

from dataclasses import dataclass
from itertools import accumulate

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from reme_compact.archive.pieces import MOST_PIECE_CHARS, cut_piece
from reme_compact.contract.errors import InvalidRequestError

FLAG = "\U0001f1e9\U0001f1ea"
FAMILY = "👩‍👩‍👧‍👦"
AWKWARD = [
    "\r",
    "\n",
    "\r\n",
    "a",
    " ",
    "é",
    "e\u0301",
    "\u0301",
    "\u200d",
    "\ufe0f",
    "🏽",
    "👩",
    FAMILY,
    FLAG[0],
    FLAG,
]
AWKWARD += [
    "\ud83d",
    "\ude00",
    "\U0001f600",
    "\u0600",
    "क",
    "\u094d",
    "ष",
    "क्ष",
    "\u1100",
    "\u1161",
    "\u11a8",
    "각",
    "\x00",
    "漢",
]

any_text = st.one_of(
    st.text(st.characters(), max_size=400),
    st.lists(st.sampled_from(AWKWARD), max_size=300).map("".join),
    st.tuples(st.sampled_from(AWKWARD), st.integers(0, 2_000), st.text(max_size=5)).map(lambda p: p[2] + p[0] * p[1]),
)


@dataclass
class Text:
    """A text that is read in parts, and remembers which."""

    text: str
    lowest: int = 10**9

    @property
    def total(self) -> int:
        return len(self.text)

    def characters(self, start: int, end: int) -> str:
        assert 0 <= start <= end <= len(self.text)
        self.lowest = min(self.lowest, start)
        return self.text[start:end]


def boundaries(text: str) -> set[int]:
    return {0, *accumulate(len(cluster) for cluster in regex.findall(r"\X", text, regex.DOTALL))}


@given(any_text, st.data())
def test_any_split_of_reads_joins_back_and_cuts_no_grapheme(text: str, data: st.DataObject) -> None:
    allowed = boundaries(text)
    longest = max(
        (after - before for before, after in zip(sorted(allowed), sorted(allowed)[1:], strict=False)), default=0
    )
    sizes = st.one_of(st.integers(1, 8), st.integers(1, 300), st.just(MOST_PIECE_CHARS))
    offset: int | None = 0
    read = ""
    while offset is not None:
        max_chars = data.draw(sizes)
        piece = cut_piece(Text(text), offset, max_chars)
        assert piece.offset == offset == len(read), "a place that we gave is never moved"
        assert piece.offset in allowed
        assert piece.total_chars == len(text)
        assert len(piece.text) <= max(max_chars, longest)
        assert piece.complete == (piece.next_offset is None)
        read += piece.text
        assert piece.next_offset is None or piece.next_offset == len(read)
        offset = piece.next_offset
    assert read == text


@given(any_text, st.data())
def test_an_offset_inside_a_grapheme_is_moved_back_to_its_start(text: str, data: st.DataObject) -> None:
    offset = data.draw(st.integers(0, len(text)))
    piece = cut_piece(Text(text), offset, data.draw(st.integers(1, 500)))
    assert piece.offset == max(place for place in boundaries(text) if place <= offset)
    assert text.startswith(piece.text, piece.offset)
    assert piece.offset + len(piece.text) in boundaries(text)
    assert piece.text or offset == len(text)


@pytest.mark.parametrize("cluster", ["a" + "\u0301" * 20_000, "👩‍" * 9_000, "\u0600" * 20_000 + "x"])
@pytest.mark.parametrize("before", ["", "plain ", FLAG * 3, "e\u0301"])
def test_only_a_grapheme_longer_than_any_piece_is_cut(cluster: str, before: str) -> None:
    text = before + cluster + "after"
    for max_chars in (7, 8_192, MOST_PIECE_CHARS):
        read, offset = "", 0
        while True:
            piece = cut_piece(Text(text), offset, max_chars)
            assert piece.offset == offset
            assert len(piece.text) <= max_chars
            read += piece.text
            if piece.next_offset is None or (max_chars < 100 and len(read) > 1_000):
                break
            offset = piece.next_offset
        assert text.startswith(read)
        assert max_chars < 100 or read == text


def test_a_grapheme_longer_than_was_asked_for_is_given_whole() -> None:
    piece = cut_piece(Text(f"{FAMILY}!"), 0, 1)
    assert (piece.text, piece.next_offset) == (FAMILY, len(FAMILY))


@pytest.mark.parametrize("length", [10_000, 10_001, 400_001])
@pytest.mark.parametrize(("before", "run_start"), [("", 0), ("x", 1), ("\U0001f1e9", 0)])
def test_flags_are_paired_from_the_beginning_of_their_run_however_far_that_is(
    length: int, before: str, run_start: int
) -> None:
    text = before + "\U0001f1ea" * length
    for offset in (length - 9, length - 8):
        expected = offset - (offset - run_start) % 2
        piece = cut_piece(Text(text), offset, 5)
        assert (piece.offset, len(piece.text)) == (expected, 4)


def test_a_piece_of_a_long_text_needs_little_of_it() -> None:
    for unit in ("plain text\n", "漢字のみ", FAMILY, "क्ष", "e\u0301"):
        source = Text(unit * 50_000)
        cut_piece(source, len(source.text) // 2, 100)
        assert source.lowest > len(source.text) // 2 - 5_000


@pytest.mark.parametrize(
    ("offset", "max_chars"), [(-1, 1), (5, 1), (0, 0), (0, MOST_PIECE_CHARS + 1), (True, 1), (0, 1.0)]
)
def test_what_is_out_of_range_is_refused(offset: int, max_chars: int) -> None:
    with pytest.raises(InvalidRequestError):
        cut_piece(Text("four"), offset, max_chars)


def test_the_end_is_an_empty_piece() -> None:
    assert cut_piece(Text("four"), 4, 10).complete
    assert cut_piece(Text(""), 0, 10).text == ""
