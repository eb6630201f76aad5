"""`reme archive`: what an archive keeps, and whether it is whole."""

import json
import sys
from pathlib import Path

import pytest
from archive_command import said, told
from kept_originals import TRAVEL, archive_at, keep
from terminal import Terminal

from reme_compact.archive.archive import Archive
from reme_compact.archive.names import record_name, text_name
from reme_compact.archive.opening import storage_at
from reme_compact.archive.reference import Session, parse_reference
from reme_compact.cli.exit_codes import ExitCode
from reme_compact.cli.main import main

ANNA = Session("travel", owner="anna")
HOSTILE = Session("x\x1b[2J\n9 sessions")


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return archive_at(tmp_path / "archive")


def damage(tmp_path: Path, name: str) -> None:
    (tmp_path / "archive" / name).write_bytes(b"damaged")


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("  ") if cell.strip()]


def test_sessions_are_listed_with_what_they_keep_and_the_totals(
    archive: Archive, capfd: pytest.CaptureFixture[str]
) -> None:
    keep(archive, "x" * 1000)
    keep(archive, "x" * 1000, call_id="call_2")
    keep(archive, "yy", ANNA)
    heading, first, second, _, totals = said(capfd, "list").splitlines()
    assert cells(heading) == ["SESSION", "OWNER", "ENTRIES", "CHARACTERS", "CREATED"]
    assert cells(first)[:4] == ["travel", "-", "2", "1,000"]
    assert cells(second)[:4] == ["travel", "anna", "1", "2"]
    assert totals == "2 sessions, 3 entries, 1,002 characters"


def test_sessions_for_programs(archive: Archive, capfd: pytest.CaptureFixture[str]) -> None:
    keep(archive, "yy", ANNA)
    document = told(capfd, "list")
    created_at = document["sessions"][0].pop("created_at")
    assert created_at.endswith("+00:00")
    assert document == {
        "directory": str(archive.storage.directory),  # type: ignore[attr-defined]
        "sessions": [{"session": "travel", "owner": "anna", "entries": 1, "chars": 2}],
        "entries": 1,
        "chars": 2,
        "damaged": [],
    }


def test_one_session_s_entries_name_their_references(archive: Archive, capfd: pytest.CaptureFixture[str]) -> None:
    reference = keep(archive, "grün", ANNA)
    keep(archive, "of another owner")
    heading, line, _, totals = said(capfd, "list", "session=travel", "owner=anna").splitlines()
    assert cells(heading) == ["TOOL", "CALL", "CHARACTERS", "CREATED", "REFERENCE"]
    assert [*cells(line)[:3], cells(line)[-1]] == ["read_file", "call_1", "4", reference]
    assert totals == "1 entry, 4 characters"
    (entry,) = told(capfd, "list", "session=travel", "owner=anna")["entries"]
    assert (entry["ref"], entry["chars"], entry["bytes"]) == (reference, 4, 5)


def test_an_original_is_described_with_the_calls_that_had_it(
    archive: Archive, capfd: pytest.CaptureFixture[str]
) -> None:
    reference = keep(archive, "grün")
    keep(archive, [{"type": "text", "text": "grün"}], call_id="call_2")
    text = said(capfd, "stat", f"ref=[Compacted output. Recover from: {reference}]")
    assert f"reference   {reference}\n" in text
    assert "characters  4\nbytes       5\n" in text
    assert [cells(line)[:3] for line in text.splitlines()[-2:]] == [
        ["read_file", "call_1", "text"],
        ["read_file", "call_2", "blocks"],
    ]
    document = told(capfd, "stat", reference)
    assert [call["format"] for call in document["calls"]] == ["text", "blocks"]
    assert (document["session"], document["chars"], document["sha256"]) == ("travel", 4, reference[-64:])


@pytest.mark.parametrize("action", ["list", "delete", "verify"])
@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["session=travle"], "Did you mean 'travel'?"),
        (["session=travel", "owner=bert"], "It keeps one of this name with owner 'anna'."),
        (["session=something else"], "`reme archive list`"),
    ],
)
def test_an_unknown_session_is_not_an_empty_one(
    action: str, words: list[str], named: str, archive: Archive, capfd: pytest.CaptureFixture[str]
) -> None:
    keep(archive, "original", ANNA)
    assert main(["archive", action, *words, "output=text"]) == ExitCode.FAILURE
    text, complaint = capfd.readouterr()
    assert text == ""
    assert complaint.startswith("reme: session_not_found: The archive keeps nothing for the session ")
    assert named in complaint


def test_a_whole_archive_is_said_to_be_whole(archive: Archive, capfd: pytest.CaptureFixture[str]) -> None:
    keep(archive, "one")
    keep(archive, "two", ANNA)
    assert said(capfd, "verify") == "Read 2 sessions, 2 entries, 2 texts: nothing is damaged.\n"
    assert told(capfd, "verify", "session=travel") == {"sessions": 1, "entries": 1, "texts": 1, "damages": []}


def test_damage_is_named_and_a_failure(archive: Archive, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    reference = keep(archive, "original")
    keep(archive, "another")
    damage(tmp_path, text_name(reference[-64:]))
    assert main(["archive", "verify", "output=text"]) == ExitCode.FAILURE
    text, complaint = capfd.readouterr()
    line, _, totals = text.splitlines()
    assert line.startswith(f"damaged sessions/{parse_reference(reference).session_id}/{reference[-64:]}.")
    assert totals == "Read 1 session, 2 entries, 2 texts: 1 damaged."
    assert complaint.startswith("reme: archive_damaged: 1 object")
    (found,) = told(capfd, "verify", "session=travel", exit_code=ExitCode.FAILURE)["damages"]
    assert reference[-64:] in found["name"]
    assert found["message"]


def test_a_list_that_is_not_complete_says_so(
    archive: Archive, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    keep(archive, "original")
    keep(archive, "of anna", ANNA)
    damage(tmp_path, record_name(TRAVEL.id))
    document = told(capfd, "list", exit_code=ExitCode.FAILURE)
    assert [session["owner"] for session in document["sessions"]] == ["anna"]
    assert document["damaged"] == [record_name(TRAVEL.id)]
    assert f"damaged {record_name(TRAVEL.id)}" in said(capfd, "list", exit_code=ExitCode.FAILURE)


def test_a_session_is_found_by_its_name_although_its_record_is_damaged(
    archive: Archive, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    keep(archive, "original")
    damage(tmp_path, record_name(TRAVEL.id))
    assert len(told(capfd, "list", "session=travel")["entries"]) == 1
    assert told(capfd, "delete", "session=travel")["objects"] == 3


@pytest.mark.parametrize("action", ["list", "verify", "gc"])
def test_looking_at_an_archive_that_is_not_there_makes_none(
    action: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert said(capfd, action)
    assert main(["archive", "delete", "session=x"]) == ExitCode.FAILURE
    assert not (tmp_path / "archive").exists()


def test_an_empty_archive_says_where_it_is(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert said(capfd, "list") == f"There are no sessions in the archive in '{tmp_path / 'archive'}'.\n"


def test_the_archive_may_be_named_in_every_way(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = tmp_path / "mine"
    keep(archive_at(directory), "original", Session("mine"))
    (tmp_path / "mine.yaml").write_text(f"extends: decision_compaction\narchive: {{location: {directory}}}\n")
    for words in (["archive=mine"], [f"archive=file://{directory}"], ["config=mine.yaml"]):
        assert [one["session"] for one in told(capfd, "list", *words)["sessions"]] == ["mine"]
    monkeypatch.setenv("REME_ARCHIVE", str(directory))
    assert told(capfd, "list")["entries"] == 1


def test_an_archive_may_be_at_a_url(capfd: pytest.CaptureFixture[str]) -> None:
    keep(Archive(storage_at("memory://of-this-test")), "original", Session("far away"))
    assert [one["session"] for one in told(capfd, "list", "archive=memory://of-this-test")["sessions"]] == ["far away"]
    assert "of-this-test" not in said(capfd, "list", "archive=memory://empty")


def test_a_preset_without_an_archive_says_so(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.yaml").write_text("extends: default\n")
    assert main(["archive", "list", "config=mine.yaml"]) == ExitCode.USAGE
    assert "archive: the preset 'mine.yaml' has no archive; say where it is." in capfd.readouterr().err


def test_names_from_an_archive_do_not_steer_a_terminal(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    reference = keep(archive, "original", HOSTILE, call_id="\x1b]0;title\x07")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    for words in (["list"], ["list", f"session={HOSTILE.name}"], ["stat", reference]):
        assert main(["archive", *words]) == ExitCode.PROPOSAL
    assert "x\\x1b[2J\\n9 sessions" in terminal.text()
    assert "\x1b" not in terminal.text()
    assert "\x07" not in terminal.text()


def test_a_pipe_gets_json_and_a_terminal_gets_text(
    archive: Archive, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(archive, "original", HOSTILE)
    assert main(["archive", "list"]) == ExitCode.PROPOSAL
    assert json.loads(capfd.readouterr().out)["sessions"][0]["session"] == HOSTILE.name
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    assert main(["archive", "list"]) == ExitCode.PROPOSAL
    assert terminal.text().startswith("SESSION")


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ([], "what shall be done is missing: reme archive list|stat|delete|verify|gc."),
        (["session=x"], "what shall be done is missing"),
        (["lst"], "'lst' is nothing to do with an archive; did you mean 'list'?"),
        (["\x1b[2J"], r"'\x1b[2J' is nothing to do with an archive"),
        (["list", "owner=anna"], "owner: whose session?"),
        (["list", "session= "], "session: must be a text that is not blank"),
        (["list", "sesion=x"], "sesion: unknown key; did you mean 'session'?"),
        (["list", "dry_run=true"], "dry_run: is for delete, gc; not for list."),
        (["stat"], "ref: which original?"),
        (["stat", "ref=archive/demo/c1"], "ref: This is not a reference into the archive"),
        (["delete"], "session: which one?"),
        (["delete", "session=x", "dry_run=perhaps"], "dry_run: must be true or false"),
        (["gc", "older_than=-1"], "older_than: must be a number of seconds, at least 0."),
        (["gc", "older_than=day"], "older_than: must be a number."),
        (["gc", "session=x"], "session: is for list, delete, verify; not for gc."),
        (["verify", "output=table"], "output: must be text or json"),
        (["verify", "archive=nowhere"], "archive: there is no directory '"),
        (["verify", "archive=nothing://x"], "archive: "),
        (["verify", "config=nowhere"], "config: There is no preset named 'nowhere'"),
    ],
)
def test_a_mistake_is_explained(words: list[str], named: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["archive", *words]) == ExitCode.USAGE
    text, complaint = capfd.readouterr()
    assert text == ""
    assert named in complaint
    assert "reme archive --help" in complaint
