"""An original is somebody else's text: exact where a program reads, harmless on a terminal."""

import io
import sys

import pytest
from terminal import Terminal

from reme_compact.cli.recovered_text import for_terminal, write_lines, write_original

HOSTILE = "one\x1b]0;title\x07\r\ntwo\tcells\rover\u202eneo \ud83d\x9b2J"


def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    return terminal


def on_pipe(monkeypatch: pytest.MonkeyPatch) -> io.BytesIO:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    return raw


def test_a_terminal_is_not_steered(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    write_original([HOSTILE])
    assert terminal.text() == "one\\x1b]0;title\\x07\ntwo\tcells\\rover\\u202eneo \\ud83d\\x9b2J\n"


def test_matching_lines_do_not_steer_it_either(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    assert write_lines([(3, "red \x1b[31m"), (17, "plain")]) == 2
    assert terminal.text() == "3:red \\x1b[31m\n17:plain\n"


def test_a_pipe_gets_every_byte_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = on_pipe(monkeypatch)
    write_original([HOSTILE[:10], HOSTILE[10:]])
    assert pipe.getvalue() == HOSTILE.encode("utf-8", "surrogatepass")


def test_matching_lines_are_written_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = on_pipe(monkeypatch)
    assert write_lines([(0, HOSTILE)]) == 1
    assert pipe.getvalue() == b"0:" + HOSTILE.encode("utf-8", "surrogatepass") + b"\n"


def test_an_empty_original_is_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    write_original([""])
    assert terminal.text() == ""


def test_a_closed_standard_output_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    write_original(["text"])
    assert write_lines([(0, "text")]) == 1


@pytest.mark.parametrize("text", ["", "\n", "a\tb\n\nc", "grün 日本 😀"])
def test_what_is_harmless_stays_as_it_is(text: str) -> None:
    assert for_terminal(text) == text
