"""Compactions with an archive in a directory: killed, side by side, on a full disk, on damaged files, on real logs."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import compacting_processes
import pytest
from archive_base import flipped
from archiving import (
    SESSION,
    archived_request,
    calls_of,
    check_recoverable,
    compact_with,
    decisions_of,
    outputs_under,
    references_of,
    rules_of,
)
from compacting_processes import original_of
from histories import call, history, load_history, long_text, message, result, text, trajectory_files
from small_disks import files_up_to, small_disk

from reme_compact import CompactionResult
from reme_compact.archive.archive import Archive
from reme_compact.archive.filesystem import FilesystemStorage
from reme_compact.archive.names import parse_name
from reme_compact.contract.errors import ArchiveDamagedError

pytestmark = pytest.mark.anyio

RUNS = int(os.environ.get("REME_ARCHIVE_KILLS", "100"))


def start(directory: Path, role: str, *words: object) -> "subprocess.Popen[str]":
    command = [sys.executable, compacting_processes.__file__, str(directory), role, *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def lines(process: "subprocess.Popen[str]") -> list[dict[str, Any]]:
    written, _ = process.communicate()
    assert process.returncode == 0
    return [json.loads(line) for line in written.splitlines()]


def check_lines(archive: Archive, proposed: list[dict[str, Any]]) -> None:
    """See that every reference that a process wrote gives back the output it was given for."""
    for line in proposed:
        assert original_of(line) in outputs_under(archive, SESSION, line["reference"], str(line["number"]))
    assert archive.verify().damages == ()
    storage = archive.storage
    assert all(parse_name(name) is not None for name in [*storage.list("blobs/"), *storage.list("sessions/")])


@pytest.mark.parametrize("seed", [1, 2])
def test_killed_at_any_point_every_reference_of_every_returned_proposal_reads_back(tmp_path: Path, seed: int) -> None:
    directory = tmp_path / "archive"
    reported = lines(start(directory, "kill", RUNS, seed))
    ends = Counter(line["ended"] for line in reported if "ended" in line)
    proposed = [line for line in reported if "reference" in line]
    print(f"{dict(ends)}, {len(proposed)} references returned")
    assert set(ends) == {"killed", "exit 0"}
    assert ends["killed"] > RUNS / 2, "or this shows nothing"
    assert proposed
    archive = Archive(FilesystemStorage(directory))
    check_lines(archive, proposed)
    archive.gc(older_than_seconds=0)
    assert list((directory / "temporary").iterdir()) == []
    check_lines(archive, proposed)


@pytest.mark.parametrize("seeds", [(1, 1), (1, 2), (3, 3, 4)])
def test_processes_that_compact_into_one_archive_at_once_lose_nothing(tmp_path: Path, seeds: tuple[int, ...]) -> None:
    """Every second of their compactions gives up what it stored and did not need."""
    directory = tmp_path / "archive"
    processes = [start(directory, "compact", seed, 12) for seed in seeds]
    proposed = [lines(process) for process in processes]
    assert all(len(of_one) > 12 for of_one in proposed)
    check_lines(Archive(FilesystemStorage(directory)), [line for of_one in proposed for line in of_one])


def large_history(sizes: list[int]) -> list[dict[str, Any]]:
    pairs = [
        message("assistant", call(f"c{n}"), result(f"c{n}", long_text(f"c{n}", size))) for n, size in enumerate(sizes)
    ]
    return [message("user", text("go")), *pairs, message("user", text("on"))]


async def check_full(directory: Path, request: dict[str, Any], answer: dict[str, Any]) -> None:
    """See that some were replaced and read back, and that the others are kept and explained."""
    archive = Archive(FilesystemStorage(directory))
    CompactionResult.model_validate(answer, strict=True)
    kept = decisions_of(answer, "keep")
    assert kept
    assert set(rules_of(answer).values()) == {"archive_failed"}
    assert len(rules_of(answer)) == len(kept)
    assert all(
        warning.endswith(("No space left on device.", "File too large.")) for warning in answer["stats"]["warnings"]
    )
    assert sum(int(warning.split()[0]) for warning in answer["stats"]["warnings"]) == len(kept)
    check_recoverable(archive, SESSION, request, answer)
    assert archive.verify().damages == ()
    assert list((directory / "temporary").iterdir()) == []


async def test_on_a_full_disk_what_did_not_fit_is_kept_and_explained(tmp_path: Path) -> None:
    with small_disk(tmp_path) as disk:
        directory = disk / "archive"
        request = archived_request(large_history([60_000] * 30))
        answer = await compact_with(str(directory), request)
        await check_full(directory, request, answer)
        assert references_of(answer)
        again = await compact_with(str(directory), request)
        await check_full(directory, request, again)
        archive = Archive(FilesystemStorage(directory))
        assert check_recoverable(archive, SESSION, request, answer) == len(references_of(answer)), "none was lost since"


async def test_where_files_may_not_grow_the_large_ones_are_kept_and_explained(tmp_path: Path) -> None:
    directory = tmp_path / "archive"
    request = archived_request(large_history([3_000, 20_000, 4_000, 100_000]))
    with files_up_to(10_000):
        answer = await compact_with(str(directory), request)
    await check_full(directory, request, answer)
    assert list(rules_of(answer)) == ["c1", "c3"]
    assert (
        check_recoverable(
            Archive(FilesystemStorage(directory)), SESSION, request, await compact_with(str(directory), request)
        )
        == 4
    )


async def test_a_flipped_byte_is_an_error_and_compacting_again_heals_it_or_keeps_the_result(tmp_path: Path) -> None:
    directory = tmp_path / "archive"
    archive = Archive(FilesystemStorage(directory))
    request = archived_request(large_history([5_000, 150_000]))
    answer = await compact_with(archive, request)
    references = references_of(answer)
    written = [path for path in directory.rglob("*") if path.is_file() and parse_name(str(path.relative_to(directory)))]
    objects = [path for path in written if path.name != "session.json"]
    assert len(objects) == 5
    for path in objects:
        whole = path.read_bytes()
        (damaged,) = [reference for reference in references if reference.rpartition("/")[2] in path.name]
        path.write_bytes(flipped(whole, len(whole) // 2))
        with pytest.raises(ArchiveDamagedError):
            archive.original(damaged, SESSION)
        if "blobs" in path.parts:
            # It cannot be written anew: the result is kept, and the other one still replaced.
            with files_up_to(4_000):
                kept = await compact_with(archive, request)
            assert damaged not in references_of(kept)
            assert set(rules_of(kept).values()) == {"archive_failed"}
            check_recoverable(archive, SESSION, request, kept)
        healed = await compact_with(archive, request)
        assert references_of(healed) == references
        assert check_recoverable(archive, SESSION, request, healed) == 2
        assert archive.verify().damages == ()


@pytest.mark.parametrize("path", trajectory_files(), ids=lambda path: path.name.split(".")[0])
async def test_real_histories_are_recovered_byte_for_byte(tmp_path: Path, path: Path) -> None:
    archive = Archive(FilesystemStorage(tmp_path / "archive"))
    options = {"preview_chars": 0, "max_state_tokens": 200_000}
    request = archived_request(load_history(path), options=options)
    answer = await compact_with(archive, request)
    recovered = check_recoverable(archive, SESSION, request, answer)
    calls = calls_of(request)
    uses = Counter(found.call_id for found in calls.values())
    reused = sum(uses[decision["call_id"]] > 1 for decision in decisions_of(answer))
    protected = answer["stats"]["protected_by"]
    print(f"{path.name}: {len(calls)} calls, {recovered} recovered, {reused} with a reused id; protected: {protected}")
    assert not {"ambiguous_id", "archive_failed", "no_source_ref", "tool_not_eligible"} & set(protected)
    for decision in decisions_of(answer):
        block = calls[decision["id"]].result
        assert block is not None
        whole = [
            json.dumps(one) for one in outputs_under(archive, SESSION, decision["source_ref"], decision["call_id"])
        ]
        assert json.dumps(block["output"]) in whole
    again = await compact_with(archive, archived_request(answer["messages"], options=options))
    assert again["messages"] == answer["messages"]


async def test_a_place_that_is_gone_keeps_everything(tmp_path: Path) -> None:
    storage = FilesystemStorage(tmp_path / "archive")
    (tmp_path / "archive").symlink_to(tmp_path / "nowhere")
    kept = await compact_with(Archive(storage), archived_request(history(2)))
    assert set(rules_of(kept).values()) == {"archive_failed"}
    assert kept["messages"] == history(2)
