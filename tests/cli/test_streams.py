import io
import os
import sys
from pathlib import Path
from typing import TextIO

import pytest

from reme_compact.cli.streams import (
    OutputError,
    is_terminal,
    occupy_closed_streams,
    settle_streams,
    standard_output,
    write_error,
)

needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")


class Failing(io.StringIO):
    def __init__(self, error: Exception) -> None:
        super().__init__()
        self._error = error

    def flush(self) -> None:
        raise self._error


def test_what_the_encoding_lacks_becomes_a_question_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    with standard_output() as stream:
        assert stream is not None
        stream.write("größer\n")
    assert raw.getvalue() == b"gr??er\n"


def test_a_closed_standard_output_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    with standard_output() as stream:
        assert stream is None
    assert not is_terminal(stream)


def test_a_standard_output_that_fails_is_a_typed_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", Failing(OSError(28, "No space left on device")))
    with pytest.raises(OutputError, match=r"cannot be written \(No space left on device\)"), standard_output():
        pass


def test_a_reader_that_has_stopped_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", Failing(BrokenPipeError()))
    with pytest.raises(BrokenPipeError), standard_output():
        pass


@pytest.mark.parametrize(
    "stream",
    [
        None,
        Failing(OSError(28, "No space left on device")),
        Failing(BlockingIOError()),
        Failing(BrokenPipeError()),
        Failing(ValueError("I/O operation on closed file.")),
        io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="strict"),
    ],
    ids=["none", "full", "blocking", "broken", "closed", "ascii"],
)
def test_standard_error_may_fail_in_any_way(stream: TextIO | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    write_error("größer")
    settle_streams()


@needs_full
def test_what_could_not_be_written_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    with Path("/dev/full").open("w") as full:
        full.write("x")
        monkeypatch.setattr(sys, "stdout", full)
        settle_streams()
        full.flush()  # goes nowhere, and does not fail any more


def test_closed_descriptors_are_taken() -> None:
    script = "import os; from reme_compact.cli.streams import *; occupy_closed_streams(); os.fstat(0), os.fstat(2)"
    code = f"import os\nos.close(0); os.close(2)\n{script}\nassert os.open('.', os.O_RDONLY) > 2"
    assert os.waitstatus_to_exitcode(os.system(f'{sys.executable} -c "{code}"')) == 0  # noqa: S605 - our own program


def test_open_descriptors_are_left_alone() -> None:
    before = [os.fstat(number) for number in range(3)]
    occupy_closed_streams()
    assert [(now.st_dev, now.st_ino) for now in map(os.fstat, range(3))] == [(one.st_dev, one.st_ino) for one in before]


@pytest.mark.parametrize(
    ("stream", "cause"),
    [
        (None, "it is closed"),
        (Failing(BrokenPipeError()), "nobody reads it any more"),
        (Failing(OSError(28, "No space left on device")), "No space left on device"),
    ],
    ids=["closed", "unread", "full"],
)
def test_what_exists_only_once_has_to_be_written(
    stream: TextIO | None, cause: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", stream)
    with pytest.raises(OutputError) as raised, standard_output("It is lost."):
        pass
    assert raised.value.message == f"Standard output cannot be written ({cause}). It is lost."
