"""Several processes, some of them killed, in one archive."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import archive_processes
import pytest
from archive_processes import output_of

from reme_compact.archive.archive import Archive
from reme_compact.archive.filesystem import FilesystemStorage
from reme_compact.archive.names import parse_name, text_name
from reme_compact.archive.reference import Session, parse_reference

RUNS = int(os.environ.get("REME_ARCHIVE_KILLS", "150"))


def start(directory: Path, *words: object) -> "subprocess.Popen[str]":
    command = [sys.executable, archive_processes.__file__, str(directory), *map(str, words)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603


def lines(process: "subprocess.Popen[str]") -> list[dict[str, Any]]:
    written, _ = process.communicate()
    assert process.returncode == 0
    return [json.loads(line) for line in written.splitlines()]


@pytest.mark.parametrize("seed", [1, 2])
def test_killed_at_any_point_a_writer_leaves_every_confirmed_reference_whole_and_nothing_partial(
    tmp_path: Path, seed: int
) -> None:
    directory = tmp_path / "archive"
    reported = lines(start(directory, "kill", RUNS, seed))
    ends = [line["ended"] for line in reported if "ended" in line]
    confirmed = [line for line in reported if "reference" in line]
    assert len(ends) == RUNS
    assert set(ends) <= {"killed", "exit 0"}
    assert ends.count("killed") > RUNS / 2, "or this shows nothing"
    assert confirmed

    storage = FilesystemStorage(directory)
    archive = Archive(storage)
    for line in confirmed:
        session = archive.session_of(line["reference"])
        assert archive.original(line["reference"], session) == output_of(line["number"], line["seed"])
    assert archive.verify().damages == (), "what can be seen is whole"
    assert all(parse_name(name) is not None for name in [*storage.list("blobs/"), *storage.list("sessions/")])

    archive.gc(older_than_seconds=0)
    assert list((directory / "temporary").iterdir()) == []
    claimed = {name.sha256 for name in map(parse_name, storage.list("sessions/")) if name and name.kind == "envelope"}
    found = {name.sha256 for name in map(parse_name, storage.list("blobs/")) if name}
    assert found == claimed
    for line in confirmed:
        archive.confirm(line["reference"], archive.session_of(line["reference"]))


def test_two_processes_and_a_collector_without_grace_lose_nothing(tmp_path: Path) -> None:
    directory = tmp_path / "archive"
    collector = start(directory, "collect")
    writers = [start(directory, "store", seed, 60) for seed in (1, 2, 3)]
    stored = [line for writer in writers for line in lines(writer)]
    (collected,) = lines(collector)
    assert len(stored) > 100
    archive = Archive(FilesystemStorage(directory))
    for line in stored:
        session = Session(line["session"])
        assert archive.original(line["reference"], session) == f"output {line['number']} " * 50
    assert archive.verify().damages == ()
    assert collected["removed"] >= 0


def test_two_processes_that_store_the_same_and_other_things_lose_nothing(tmp_path: Path) -> None:
    directory = tmp_path / "archive"
    same = [start(directory, "store", 7, 40) for _ in range(2)]
    other = start(directory, "store", 8, 40)
    stored = [line for writer in (*same, other) for line in lines(writer)]
    storage = FilesystemStorage(directory)
    archive = Archive(storage)
    for line in stored:
        assert archive.original(line["reference"], Session(line["session"])) == f"output {line['number']} " * 50
        assert storage.info(text_name(parse_reference(line["reference"]).sha256)) is not None
    assert archive.verify().damages == ()
