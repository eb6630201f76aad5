"""Measure the archive in a directory: storing many results, and reading one piece of a huge one.

`python -m benchmarks.archive --directory D` (D on the disk that is to be measured).
"""

import argparse
import json
import os
import secrets
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.machine import describe_machine
from reme_compact.archive.archive import Archive
from reme_compact.archive.filesystem import FilesystemStorage
from reme_compact.archive.pieces import DEFAULT_PIECE_CHARS
from reme_compact.archive.reference import Session
from reme_compact.archive.storing import NewEntry, Stored

_MOST_TIMES_PLAIN = 1.5
_MEGABYTE = 1_000_000
_SESSION = Session("benchmark")


@dataclass(frozen=True, slots=True)
class Storing:
    """Seconds of each round: plain writing and syncing file by file, storing, and reading all back."""

    results: int
    bytes_each: int
    plain_seconds: list[float]
    store_seconds: list[float]
    confirm_seconds: list[float]

    @property
    def times_plain(self) -> float:
        """How many times as long storing takes as plain writing; of the medians."""
        return statistics.median(self.store_seconds) / statistics.median(self.plain_seconds)


@dataclass(frozen=True, slots=True)
class Reading:
    """What one piece of a huge original cost."""

    original_bytes: int
    piece_chars: int
    bytes_read: int
    seconds: float
    confirm_seconds: float


class CountingStorage(FilesystemStorage):
    """A directory that counts the bytes it hands out."""

    bytes_read = 0

    def read(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        """Return bytes of an object, and count them."""
        data = super().read(name, start, end)
        self.bytes_read += len(data)
        return data


def measure_storing(directory: Path, results: int, bytes_each: int, rounds: int) -> Storing:
    """Store distinct results, in turns with plain writing of the same bytes."""
    plain_seconds, store_seconds, confirm_seconds = [], [], []
    for number in range(rounds):
        texts = [secrets.token_hex(bytes_each // 2) for _ in range(results)]
        # Nothing is deleted before the end: a file system that reuses freshly freed entries is slower in doing so.
        plain_seconds.append(_timed(lambda: _write_plainly(directory / f"plain{number}", texts)))  # noqa: B023
        archive = Archive(FilesystemStorage(directory / f"archive{number}"))
        stored: list[Stored] = []
        store_seconds.append(_timed(lambda: stored.extend(_store(archive, texts))))  # noqa: B023
        confirm_seconds.append(_timed(lambda: _confirm(archive, stored)))  # noqa: B023
    return Storing(results, bytes_each, plain_seconds, store_seconds, confirm_seconds)


def measure_reading(directory: Path, megabytes: int) -> Reading:
    """Read a piece from the middle of one original."""
    line = "2026-11-30T12:00:00Z INFO request served in 12 ms, status 200, größe 4711 bytes, run "
    count = megabytes * _MEGABYTE // (len(line.encode()) + 9)
    text = "".join(f"{line}{number:08}\n" for number in range(count))
    storage = CountingStorage(directory / "huge")
    archive = Archive(storage)
    stored = archive.store(_SESSION, NewEntry("call", "read_log", text))
    confirm_seconds = _timed(lambda: archive.confirm(stored.reference, _SESSION, stored.claim))
    storage.bytes_read = 0
    offset = len(text) // 2
    started = time.perf_counter()
    piece = archive.read(stored.reference, _SESSION, offset)
    seconds = time.perf_counter() - started
    if piece.text != text[offset : offset + DEFAULT_PIECE_CHARS]:
        raise SystemExit("The piece that was read is not the piece that was stored.")
    return Reading(len(text.encode()), len(piece.text), storage.bytes_read, seconds, confirm_seconds)


def main(words: Sequence[str] | None = None) -> int:
    """Measure, print the figures, write everything down; return an exit code."""
    arguments = _parser().parse_args(words)
    machine = describe_machine(
        "python -m benchmarks.archive", ["ours"], {"rounds": arguments.rounds, "results": arguments.results}
    )
    with tempfile.TemporaryDirectory(dir=arguments.directory) as directory:
        storing = measure_storing(Path(directory), arguments.results, arguments.bytes, arguments.rounds)
        reading = measure_reading(Path(directory), arguments.megabytes)
    machine["load_average_after"] = list(os.getloadavg())
    for line in _lines(storing, reading):
        sys.stdout.write(f"{line}\n")
    document = {
        "machine": machine,
        "storing": {**asdict(storing), "times_plain": storing.times_plain},
        "reading": asdict(reading),
    }
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 0


def _lines(storing: Storing, reading: Reading) -> list[str]:
    verdict = "met" if storing.times_plain <= _MOST_TIMES_PLAIN else "not met"
    median = statistics.median
    return [
        f"{storing.results} results of {storing.bytes_each} bytes, {len(storing.store_seconds)} rounds, medians",
        f"  written and synced file by file  {median(storing.plain_seconds):.2f} s",
        (
            f"  stored                           {median(storing.store_seconds):.2f} s, "
            f"{storing.times_plain:.2f} times, at most {_MOST_TIMES_PLAIN}: {verdict}"
        ),
        f"  read back and checked            {median(storing.confirm_seconds):.2f} s",
        f"one piece of {reading.piece_chars} characters from an original of {reading.original_bytes} bytes",
        (
            f"  bytes read                       {reading.bytes_read} "
            f"({100 * reading.bytes_read / reading.original_bytes:.2f} %), {reading.seconds * 1000:.1f} ms"
        ),
        f"  the whole read back and checked  {reading.confirm_seconds:.2f} s",
    ]


def _write_plainly(directory: Path, texts: Sequence[str]) -> None:
    directory.mkdir()
    for number, text in enumerate(texts):
        with (directory / str(number)).open("wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())


def _store(archive: Archive, texts: Sequence[str]) -> list[Stored]:
    entries = (NewEntry(f"call{number}", "read_file", text) for number, text in enumerate(texts))
    outcomes = archive.store_many(_SESSION, entries)
    failures = [outcome for outcome in outcomes if not isinstance(outcome, Stored)]
    if failures:
        raise failures[0]
    return [outcome for outcome in outcomes if isinstance(outcome, Stored)]


def _confirm(archive: Archive, stored: Sequence[Stored]) -> None:
    for entry in stored:
        archive.confirm(entry.reference, _SESSION, entry.claim)


def _timed(work: Callable[[], None]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.archive", description=__doc__)
    parser.add_argument("--directory", type=Path, help="where to write; a temporary one by default")
    parser.add_argument("--results", type=int, default=5_000)
    parser.add_argument("--bytes", type=int, default=20_000, help="of each result")
    parser.add_argument("--megabytes", type=int, default=100, help="of the huge original")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("out/archive.json"))
    return parser


if __name__ == "__main__":
    sys.exit(main())
