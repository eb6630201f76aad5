import pytest
from hypothesis import given
from hypothesis import strategies as st

from reme_compact.cli.printable import printable, shorten


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("read_file", "read_file"),
        ("größe 日本 🙂", "größe 日本 🙂"),
        ("\x1b[31mred\x07", r"\x1b[31mred\x07"),
        ("a\nb\tc\r", r"a\nb\tc\r"),
        ("\x9b0m", r"\x9b0m"),
        ("\u202egnp.exe", r"\u202egnp.exe"),
        ("\ud800", r"\ud800"),
        ("\u2028", r"\u2028"),
        ("\U000e0041", r"\U000e0041"),
    ],
)
def test_what_could_steer_a_terminal_is_spelled_out(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text(), st.integers(3, 40))
def test_shortened_text_fits_and_stays_harmless(text: str, width: int) -> None:
    shown = shorten(text, width)
    assert len(shown) <= width
    assert "\x1b" not in shown
    assert "\n" not in shown


def test_both_ends_of_a_long_id_stay() -> None:
    assert shorten("toolu_01ASLWrsc7sQ1adiRstjQa2n", 12) == "toolu_…jQa2n"
