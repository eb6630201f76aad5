"""Processes that use an archive in a directory and may be killed: `python archive_processes.py DIRECTORY ROLE ...`.

Only this process's own children are killed, by themselves, at a chosen call to the operating system.
"""

import json
import os
import signal
import sys
from collections.abc import Callable
from random import Random
from typing import Any

from reme_compact.archive import file_locks, filesystem, filesystem_writing, folders
from reme_compact.archive.archive import Archive
from reme_compact.archive.filesystem import FilesystemStorage
from reme_compact.archive.reference import Session
from reme_compact.archive.storing import NewEntry, Stored

DEADLY_CALLS = ("open", "write", "fsync", "rename", "link", "unlink", "mkdir", "utime", "close")
CALLS_OF_ONE_RUN = 420
"""About as many deadly calls as one run makes, so that some runs come to their end."""


def output_of(number: int, seed: int) -> str:
    """Return an output that a test can make again: small and large ones, some equal to those of other seeds."""
    random = Random(number if number % 3 == 0 else f"{seed}/{number}")  # noqa: S311 - test data
    return f"{number} grün " * random.choice([1, 40, 4_000, 30_000])


def die_at(count: int, *, half_written: bool) -> None:
    """Let this process kill itself at a call to the operating system; of a write, half may be done by then."""
    left = count

    def deadly(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0:
                if half_written and name == "write":
                    real(arguments[0], arguments[1][: len(arguments[1]) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*arguments, **options)

        return call

    class DeadlyCalls:
        def __getattr__(self, name: str) -> Any:
            real = getattr(os, name)
            return deadly(name, real) if name in DEADLY_CALLS else real

    for module in (folders, filesystem, filesystem_writing, file_locks):
        module.os = DeadlyCalls()  # type: ignore[attr-defined]


def store_and_report(archive: Archive, session: Session, seed: int, report: int) -> None:
    """Store outputs, one by one and together, and write a line for every reference that was confirmed."""
    for first in range(0, 12, 4):
        numbers = [first] if seed % 2 else list(range(first, first + 4))
        entries = [NewEntry(f"call_{number}", "read_file", output_of(number, seed)) for number in numbers]
        for number, outcome in zip(numbers, archive.store_many(session, entries), strict=True):
            if isinstance(outcome, Stored):
                archive.confirm(outcome.reference, session, outcome.claim)
                line = json.dumps({"reference": outcome.reference, "number": number, "seed": seed})
                os.write(report, f"{line}\n".encode())


def kill_many(directory: str, runs: int, seed: int) -> None:
    """Fork a child for every run, which dies at a random call; all write to one archive and to standard output."""
    random = Random(seed)  # noqa: S311 - test data
    for run in range(runs):
        count, half_written = random.randrange(1, CALLS_OF_ONE_RUN), random.random() < 0.5
        child = os.fork()
        if child == 0:
            archive = Archive(FilesystemStorage(directory, threads=random.choice([1, 4])))
            die_at(count, half_written=half_written)
            store_and_report(archive, Session(f"session {run % 5}"), run, 1)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        ended = "killed" if os.WIFSIGNALED(status) else f"exit {os.WEXITSTATUS(status)}"
        os.write(1, f"{json.dumps({'run': run, 'ended': ended})}\n".encode())


def store_many_times(directory: str, seed: int, rounds: int) -> None:
    """Store, confirm, take back some, delete some: what hosts do at the same time."""
    archive = Archive(FilesystemStorage(directory))
    random = Random(seed)  # noqa: S311 - test data
    for _ in range(rounds):
        numbers = random.sample(range(40), 6)
        session = Session(f"session {random.randrange(3)}")
        entries = [NewEntry(f"call_{number}", "read_file", f"output {number} " * 50) for number in numbers]
        outcomes = [one for one in archive.store_many(session, entries) if isinstance(one, Stored)]
        if random.random() < 0.3:
            archive.unclaim(outcomes)
            continue
        for number, outcome in zip(numbers, outcomes, strict=True):
            archive.confirm(outcome.reference, session, outcome.claim)
            line = {"reference": outcome.reference, "session": session.name, "number": number}
            os.write(1, f"{json.dumps(line)}\n".encode())


def collect_until_told(directory: str) -> None:
    """Collect over and over, without any grace, until standard input ends."""
    archive = Archive(FilesystemStorage(directory))
    os.set_blocking(0, False)
    removed = 0
    while True:
        removed += len(archive.gc(older_than_seconds=0).removed)
        try:
            if not os.read(0, 1):
                break
        except BlockingIOError:
            continue
    os.write(1, f"{json.dumps({'removed': removed})}\n".encode())


def main() -> None:
    directory, role, *numbers = sys.argv[1:]
    if role == "kill":
        kill_many(directory, *map(int, numbers))
    elif role == "store":
        store_many_times(directory, *map(int, numbers))
    else:
        collect_until_told(directory)


if __name__ == "__main__":
    main()
