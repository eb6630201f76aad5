"""`reme recover grep=`: the lines that match, each with the offset at which reading goes on there."""

import json
from pathlib import Path

import pytest
from kept_originals import archive_at, keep, serves_pieces
from scripted_service import ScriptedService

from reme_compact.archive.archive import Archive
from reme_compact.cli.exit_codes import ExitCode
from reme_compact.cli.main import main

LOG = "".join(f"line {number:05}: {'ERROR é' if number % 1000 == 7 else 'fine'}\n" for number in range(5_000))
LINES = [f"line {number:05}: ERROR é" for number in (7, 1007, 2007, 3007, 4007)]


@pytest.fixture(params=["service", "archive"])
def words(request: pytest.FixtureRequest, scripted: ScriptedService, tmp_path: Path) -> list[str]:
    archive: Archive = archive_at(tmp_path / "archive")
    reference = keep(archive, LOG)
    serves_pieces(scripted, archive, reference)
    if request.param == "archive":
        return ["recover", reference, "archive=archive"]
    return ["recover", reference, "host=127.0.0.1", f"port={scripted.port}"]


def test_each_line_stands_after_its_offset(words: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert main([*words, "grep=ERR.R"]) == ExitCode.PROPOSAL
    text, said = capfd.readouterr()
    found = [line.partition(":") for line in text.splitlines()]
    assert [line for _, _, line in found] == LINES
    assert [LOG[int(offset) :].partition("\n")[0] for offset, _, _ in found] == LINES
    assert said == ""


def test_reading_goes_on_at_the_offset(words: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert main([*words, "grep=02007"]) == ExitCode.PROPOSAL
    offset = capfd.readouterr().out.partition(":")[0]
    assert main([*words, f"offset={offset}", "max_chars=19"]) == ExitCode.PROPOSAL
    assert capfd.readouterr().out == LINES[2]


def test_lines_before_the_offset_are_left_out(words: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert main([*words, "grep=ERROR", f"offset={LOG.index(LINES[3])}"]) == ExitCode.PROPOSAL
    assert [line.partition(":")[2] for line in capfd.readouterr().out.splitlines()] == LINES[3:]
    assert main([*words, "grep=ERROR", f"offset={len(LOG)}"]) == ExitCode.PROPOSAL
    assert f"from offset {len(LOG)} on" in capfd.readouterr().err
    assert main([*words, "grep=ERROR", f"offset={len(LOG) + 1}"]) == ExitCode.FAILURE
    assert f"offset: must be a whole number from 0 to {len(LOG)}" in capfd.readouterr().err


def test_nothing_matched_is_no_failure_and_is_said(words: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert main([*words, "grep=FATAL"]) == ExitCode.PROPOSAL
    text, said = capfd.readouterr()
    assert text == ""
    assert said.startswith("reme: nothing matched")


def test_matches_as_json(words: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert main([*words, "grep=^line 0[01]007", "output=json"]) == ExitCode.PROPOSAL
    answer = json.loads(capfd.readouterr().out)
    assert answer["total_chars"] == len(LOG)
    assert [match["text"] for match in answer["matches"]] == LINES[:2]
    (first, _) = answer["matches"]
    assert LOG[first["offset"] :].startswith(LINES[0])
    assert first["found_at"] == first["offset"]


def test_a_bad_expression_is_refused_before_anything_is_asked(
    words: list[str], scripted: ScriptedService, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, "grep=(unclosed"]) == ExitCode.USAGE
    text, said = capfd.readouterr()
    assert text == ""
    assert said.startswith("reme: usage_error: grep: ")
    assert scripted.asked == []


def test_an_expression_that_would_take_for_ever_ends(
    words: list[str], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("reme_compact.cli.recover._PATTERN_SECONDS", 0.2)
    reference = keep(archive_at(tmp_path / "archive"), "a" * 60 + "!")
    assert main(["recover", reference, "archive=archive", "grep=^(a|aa|a?a)+$"]) == ExitCode.FAILURE
    assert "grep" in capfd.readouterr().err
