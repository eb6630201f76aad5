"""`reme archive delete` and `gc`: only what was asked for goes, and it is said what and why."""

import os
import sys
from pathlib import Path

import pytest
from archive_command import said, told
from kept_originals import TRAVEL, archive_at, keep

from reme_compact.archive.archive import Archive
from reme_compact.archive.names import text_name
from reme_compact.archive.opening import storage_at
from reme_compact.archive.reference import Session
from reme_compact.cli.exit_codes import ExitCode
from reme_compact.cli.main import main
from reme_compact.contract.errors import ReferenceNotFoundError

ANNA = Session("travel", owner="anna")


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return archive_at(tmp_path / "archive")


def test_a_dry_run_says_everything_and_removes_nothing(archive: Archive, capfd: pytest.CaptureFixture[str]) -> None:
    reference = keep(archive, "original")
    *lines, _, total = said(capfd, "delete", "session=travel", "dry_run=true").splitlines()
    assert len(lines) == 3
    assert all(line.startswith("would remove ") for line in lines)
    assert f"would remove {text_name(reference[-64:])} (8 bytes): no session claims it" in lines
    assert total.startswith("In a dry run nothing is removed; it would be 3 objects, ")
    assert archive.original(reference, TRAVEL) == "original"


def test_a_session_is_deleted_with_what_it_alone_keeps(archive: Archive, capfd: pytest.CaptureFixture[str]) -> None:
    own, shared = keep(archive, "own"), keep(archive, "shared")
    other = keep(archive, "shared", ANNA)
    expected = told(capfd, "delete", "session=travel", "dry_run=true")
    document = told(capfd, "delete", "session=travel")
    assert document["removed"] == expected["removed"]
    assert document["dry_run"] is False
    assert document["bytes"] == sum(removal["bytes"] for removal in document["removed"])
    names = [removal["name"] for removal in document["removed"]]
    assert text_name(own[-64:]) in names
    assert text_name(shared[-64:]) not in names
    assert {removal["reason"] for removal in document["removed"]} == {
        "its session is deleted",
        "no session claims it",
    }
    with pytest.raises(ReferenceNotFoundError):
        archive.original(own, TRAVEL)
    assert archive.original(other, ANNA) == "shared"


def test_a_deletion_that_could_not_be_reported_says_what_it_removed(
    archive: Archive, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(archive, "original")
    monkeypatch.setattr(sys, "stdout", None)
    assert main(["archive", "delete", "session=travel", "output=text"]) == ExitCode.FAILURE
    assert "Removed 3 objects, " in capfd.readouterr().err
    assert archive.sessions().sessions == ()


def unclaimed(archive: Archive, tmp_path: Path, *, age: float) -> str:
    """Leave a text that no session claims, written so many seconds ago, and return its name."""
    reference = keep(archive, "unclaimed", ANNA)
    for file in (tmp_path / "archive" / "sessions" / ANNA.id).iterdir():
        file.unlink()
    name = text_name(reference[-64:])
    written = (tmp_path / "archive" / name).stat().st_mtime - age
    os.utime(tmp_path / "archive" / name, (written, written))
    return name


def test_what_no_session_claims_is_collected(
    archive: Archive, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    reference = keep(archive, "claimed")
    name = unclaimed(archive, tmp_path, age=100_000)
    line, _, total = said(capfd, "gc", "dry_run=true").splitlines()
    assert line == f"would remove {name} (9 bytes): no session claims it"
    assert total == "In a dry run nothing is removed; it would be 1 object, 9 bytes."
    line, _, total = said(capfd, "gc").splitlines()
    assert line == f"removed {name} (9 bytes): no session claims it"
    assert total == "Removed 1 object, 9 bytes."
    assert said(capfd, "gc") == "There is nothing to remove.\n"
    assert archive.original(reference, TRAVEL) == "claimed"


def test_what_is_young_stays_unless_asked_for(
    archive: Archive, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    name = unclaimed(archive, tmp_path, age=1000)
    assert said(capfd, "gc") == (
        "There is nothing to remove. 1 object more would go, but not as young as now (older_than=).\n"
    )
    assert told(capfd, "gc", "older_than=2000") == {
        "dry_run": False,
        "removed": [],
        "objects": 0,
        "bytes": 0,
        "too_young": 1,
    }
    assert told(capfd, "gc", "older_than=999")["removed"][0]["name"] == name


def test_a_folder_that_is_no_archive_is_left_alone(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    work = tmp_path / "project" / "temporary" / "thesis.txt"
    work.parent.mkdir(parents=True)
    work.write_text("years of work")
    os.utime(work, (0, 0))
    (tmp_path / "project" / "README").write_text("")
    assert main(["archive", "gc", "archive=project", "output=text"]) == ExitCode.FAILURE
    assert "holds no archive but other things, such as 'README'" in capfd.readouterr().err
    assert work.exists()


def test_where_others_cannot_be_held_off_texts_wait_for_gc(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = "memory://shared-by-this-test"
    keep(Archive(storage_at(url)), "original")
    monkeypatch.setattr("reme_compact.archive.fsspec_storage._ONE_PROCESS", "none")
    text = said(capfd, "delete", "session=travel", f"archive={url}")
    assert text.splitlines()[-1] == f"  reme archive gc archive={url}"
    assert main(["archive", "gc", f"archive={url}", "older_than=10"]) == ExitCode.USAGE
    assert "older_than: must be at least 3600" in capfd.readouterr().err
    assert said(capfd, "gc", f"archive={url}", "older_than=10", "dry_run=true").startswith("There is nothing")
