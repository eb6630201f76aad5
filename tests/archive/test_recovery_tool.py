"""An agent reads back exactly what was stored, and learns from the answer what it did wrong."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kept_originals import AWKWARD, TRAVEL, archive_at, keep

from reme_compact.archive.archive import Archive
from reme_compact.archive.names import text_name
from reme_compact.archive.pieces import DEFAULT_PIECE_CHARS, MOST_PIECE_CHARS
from reme_compact.archive.recovery_tool import RecoveryTool
from reme_compact.archive.reference import Session, parse_reference
from reme_compact.contract.errors import (
    ArchiveDamagedError,
    InvalidReferenceError,
    InvalidRequestError,
    ReferenceNotFoundError,
)
from reme_compact.history.preview import is_preview, recovery_marker
from reme_compact.history.recovery import RECOVERY_TOOL, REFERENCE_INPUT

LOG = "".join(f"2024-05-01 12:{number // 60:02}:{number % 60:02} request {number} ok\n" for number in range(1_200))
SPECIAL = "2024-05-01 12:10:00 request 600 FAILED: card 4417 declined by bank"
LOG = LOG.replace("2024-05-01 12:10:00 request 600 ok", SPECIAL)
MORE = re.compile(r"\n\[Characters \d+ to \d+ of \d+\. To go on, call again with offset=(\d+)\.\]\Z")
ANYBODY = Session("somebody else's")


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return archive_at(tmp_path / "archive")


@pytest.fixture
def tool(archive: Archive) -> RecoveryTool:
    return RecoveryTool(archive, "travel")


def read_on(tool: RecoveryTool, ref: str, **arguments: Any) -> str:
    """Read as an agent does: on from what the last line says, until there is none."""
    texts: list[str] = []
    offset = 0
    while True:
        answer = tool(ref, offset, **arguments)
        more = MORE.search(answer)
        if more is None:
            return "".join([*texts, answer])
        texts.append(answer[: more.start()])
        offset = int(more[1])


def failure(answer: str) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads(answer)
    assert list(fields) == ["code", "error", "message", "retryable"]
    assert ": " not in answer.partition('"message"')[0]
    return fields


def test_a_model_is_told_what_the_tool_takes(tool: RecoveryTool) -> None:
    assert tool.name == RECOVERY_TOOL
    assert set(tool.parameters["properties"]) == {REFERENCE_INPUT, "offset", "max_chars", "grep"}
    assert tool.parameters["required"] == [REFERENCE_INPUT]
    assert tool.parameters["additionalProperties"] is False
    assert tool.parameters["properties"]["max_chars"]["maximum"] == MOST_PIECE_CHARS
    assert tool.parameters["properties"]["max_chars"]["default"] == DEFAULT_PIECE_CHARS
    json.dumps(tool.parameters)


def test_what_fits_one_piece_comes_verbatim_and_alone(archive: Archive, tool: RecoveryTool) -> None:
    assert tool(keep(archive, "short, with a last line break\n")) == "short, with a last line break\n"


@pytest.mark.parametrize("original", [AWKWARD, LOG, "x" * 40_000, "e" + "\u0301" * 30_000])
@pytest.mark.parametrize("max_chars", [700, DEFAULT_PIECE_CHARS, MOST_PIECE_CHARS])
def test_an_agent_that_reads_on_gets_the_original(
    archive: Archive, tool: RecoveryTool, original: str, max_chars: int
) -> None:
    assert read_on(tool, keep(archive, original), max_chars=max_chars) == original


def test_content_blocks_are_read_as_their_text(archive: Archive, tool: RecoveryTool) -> None:
    ref = keep(archive, [{"type": "text", "text": "one"}, {"type": "text", "text": "two words"}])
    assert tool(ref) == "one\ntwo words"
    assert tool(ref, grep="words").startswith("4: two words\n")


def test_an_answer_is_never_taken_for_a_preview(archive: Archive, tool: RecoveryTool) -> None:
    ref = keep(archive, LOG)
    for answer in (tool(ref), tool(ref, grep="ok"), tool(ref, grep="absent"), tool(ref, len(LOG))):
        assert not is_preview(answer)


def test_after_the_end_there_is_nothing_and_the_answer_says_so(archive: Archive, tool: RecoveryTool) -> None:
    ref = keep(archive, LOG)
    assert tool(ref, len(LOG)) == f"[Nothing follows. The original has {len(LOG)} characters.]"
    with pytest.raises(InvalidRequestError, match=f"offset: must be a whole number from 0 to {len(LOG)}"):
        tool(ref, len(LOG) + 1)
    with pytest.raises(InvalidRequestError, match=f"offset: must be a whole number from 0 to {len(LOG)}"):
        tool(ref, len(LOG) + 1, grep="x")


@pytest.mark.parametrize(
    "copied",
    ["{}", " {}\n", '"{}"', "`{}`", "[Compacted output. Recover from: {}]", "Recover from: {}.", "ref={}", "<{}>"],
)
def test_a_reference_is_found_in_what_a_model_copies(archive: Archive, tool: RecoveryTool, copied: str) -> None:
    ref = keep(archive, "the original")
    assert tool(copied.format(ref)) == "the original"
    assert tool(recovery_marker(ref)) == "the original"


def test_a_reference_named_twice_is_one_and_two_are_none(archive: Archive, tool: RecoveryTool) -> None:
    ref, other = keep(archive, "the original"), keep(archive, "another", call_id="call_2")
    assert tool(f"{ref} {ref}") == "the original"
    with pytest.raises(InvalidReferenceError):
        tool(f"{ref} {other}")


@pytest.mark.parametrize(
    "hostile", ["../{}", "/{}", "{}/..", "%2e%2e/{}", "{}.index", "a{}", "{}0", "{}..", "", "/etc/passwd"]
)
def test_nothing_but_a_reference_is_looked_up(archive: Archive, tool: RecoveryTool, hostile: str) -> None:
    ref = keep(archive, "the original")
    assert failure(tool.answer({"ref": hostile.format(ref)}))["code"] == "invalid_reference"


def test_a_reference_opens_for_its_own_session_only(archive: Archive, tool: RecoveryTool) -> None:
    for session in (ANYBODY, Session("travel", owner="anna")):
        ref = keep(archive, "a secret", session)
        with pytest.raises(ReferenceNotFoundError):
            tool(ref)
        assert failure(tool.answer({"ref": ref, "grep": "secret"}))["code"] == "reference_not_found"
        assert RecoveryTool(archive, session)(ref) == "a secret"


def test_lines_come_with_offsets_from_which_an_agent_reads_on(archive: Archive, tool: RecoveryTool) -> None:
    ref = keep(archive, LOG)
    line, last = tool(ref, grep=r"FAILED: .* declined").splitlines()
    offset, _, text = line.partition(": ")
    assert text == SPECIAL
    assert tool(ref, int(offset), len(SPECIAL)).startswith(f"{SPECIAL}\n[")
    assert last.startswith("[1 of 1 matching lines")
    assert "offset=" not in last


def test_an_agent_gets_all_lines_however_little_room_there_is(archive: Archive, tool: RecoveryTool) -> None:
    ref = keep(archive, LOG)
    wanted = [line for line in LOG.splitlines() if "request 1" in line]
    found: list[str] = []
    offset = 0
    while True:
        *lines, last = tool(ref, offset, 1_000, grep="request 1").splitlines()
        assert sum(len(line) + 1 for line in lines) <= 1_000
        found += [line.partition(": ")[2] for line in lines]
        more = re.search(r"offset=(\d+)", last)
        assert f"{len(lines)} of {len(wanted) - len(found) + len(lines)} matching lines" in last
        if more is None:
            break
        offset = int(more[1])
    assert found == wanted


def test_of_a_line_that_is_longer_than_an_answer_the_matches_are_shown(archive: Archive, tool: RecoveryTool) -> None:
    original = "x" * 50_000 + "needle one" + "x" * 50_000 + "needle two" + "👩‍👩‍👧" * 5_000
    ref = keep(archive, original)
    answer = tool(ref, max_chars=300, grep="needle")
    offset, _, part = answer.splitlines()[0].partition(": ")
    assert len(part) <= 302
    shown = part.strip("…")
    assert original[int(offset) :].startswith(shown)
    assert "needle one" in shown
    assert "a later match in it is found from an offset after the part" in answer
    assert "needle two" in tool(ref, int(offset) + len(shown), 300, grep="needle")
    assert tool(ref, len(original) - 10, grep="needle").startswith("[No line matches.")


@given(st.text(), st.integers(1, 30), st.integers(0, 60))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_shown_of_a_line_stands_where_the_answer_says(
    archive: Archive, before: str, max_chars: int, length: int
) -> None:
    original = before + "needle" + "e\u0301" * length
    answer = RecoveryTool(archive, TRAVEL)(keep(archive, original), max_chars=max_chars, grep="needle")
    match = re.match(r"(\d+): (.*)\n\[1 of 1 ", answer, re.DOTALL)
    assert match
    offset, shown = int(match[1]), match[2]
    parts = {shown, shown.removeprefix("…"), shown.removesuffix("…"), shown.removeprefix("…").removesuffix("…")}
    assert any(part and original.startswith(part, offset) for part in parts)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, "ref: is required"),
        ({"ref": 7}, "ref: must be text"),
        ({"ref": None}, "ref: is required"),
        ({"ref": "R", "offset": "1.5"}, "offset: must be a whole number"),
        ({"ref": "R", "offset": True}, "offset: must be a whole number"),
        ({"ref": "R", "offset": -1}, "offset: must be at least 0"),
        ({"ref": "R", "max_chars": 0}, "max_chars: must be at least 1"),
        ({"ref": "R", "grep": ["x"]}, "grep: must be text"),
        ({"ref": "R", "grep": "("}, "grep: is not a regular expression: missing ) at position 1"),
        ({"ref": "R", "max_char": 5}, "max_char: unknown key; did you mean 'max_chars'?"),
        ({"ref": "R", 7: 5}, "7: unknown key"),
        ("{", "must be a JSON object"),
        ("[1]", "must be a JSON object"),
        ("[" * 100_000, "must be a JSON object"),
    ],
)
def test_a_model_is_told_what_was_wrong_with_its_call(
    archive: Archive, tool: RecoveryTool, arguments: Any, problem: str
) -> None:
    ref = keep(archive, "the original")
    if isinstance(arguments, dict) and arguments.get("ref") == "R":
        arguments = {**arguments, "ref": ref}
    fields = failure(tool.answer(arguments))
    assert (fields["code"], fields["retryable"]) == ("invalid_request", False)
    assert problem in fields["message"]


def test_numbers_may_be_text_and_more_than_there_is_at_once_gives_what_there_is(
    archive: Archive, tool: RecoveryTool
) -> None:
    ref = keep(archive, "the original")
    assert tool.answer({"ref": ref, "offset": "4", "max_chars": "100000"}) == tool(ref, offset=4)
    long = keep(archive, "x" * (2 * MOST_PIECE_CHARS), call_id="c2")
    assert tool.answer({"ref": long, "max_chars": 10**9}) == tool(long, max_chars=MOST_PIECE_CHARS)


def test_arguments_may_be_json_and_null_is_absent(archive: Archive, tool: RecoveryTool) -> None:
    ref = keep(archive, "the original")
    assert tool.answer(json.dumps({"ref": ref, "offset": None, "grep": None})) == "the original"
    assert tool.answer({"ref": ref, "grep": ""}) == "the original"


@pytest.mark.parametrize("more", [{}, {"grep": "original"}])
def test_damage_is_a_failure_and_never_content(
    archive: Archive, tool: RecoveryTool, tmp_path: Path, more: dict[str, Any]
) -> None:
    ref = keep(archive, "the original")
    stored = tmp_path / "archive" / text_name(parse_reference(ref).sha256)
    stored.write_bytes(b"The original")
    answer = tool.answer({"ref": ref, **more})
    assert failure(answer)["code"] == "archive_damaged"
    assert "The original" not in answer
    with pytest.raises(ArchiveDamagedError):
        tool(ref, **more)


def test_a_tool_without_a_session_is_refused(archive: Archive) -> None:
    with pytest.raises(InvalidRequestError, match="session"):
        RecoveryTool(archive, " ")
