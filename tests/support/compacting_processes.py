"""Processes that compact with an archive and may be killed: `python compacting_processes.py DIRECTORY ROLE ...`.

A line is written for each proposal as soon as it is returned: its references, and from what the outputs can be made
again. Only this process's own children are killed, by themselves, at a chosen call to the operating system.
"""

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from random import Random
from typing import Any

from archive_processes import die_at, output_of
from archiving import archived_request, counts_output, decisions_of
from histories import call, message, result, text
from models import by_hash

from reme_compact import CompactContextStep
from reme_compact.archive.archive import Archive
from reme_compact.archive.filesystem import FilesystemStorage

CALLS_OF_ONE_RUN = 550
"""About as many deadly calls as one run makes, so that some runs come to their end."""

_RESULTS = 5


def history_of(first: int, seed: int) -> list[dict[str, Any]]:
    """Return a history whose calls are named by the numbers of their outputs; one is in content blocks."""
    pairs = []
    for number in range(first, first + _RESULTS):
        output = output_of(number, seed)
        blocks = [call(str(number)), result(str(number), [text(output)] if number % 5 == 0 else output)]
        pairs.append(message("assistant", *blocks))
    return [message("user", text("Fix the retries")), *pairs, message("user", text("Go on"))]


def requests_of(seed: int, compactions: int) -> Iterator[dict[str, Any]]:
    """Yield requests, some of which need not replace everything that is not needed."""
    for number in range(compactions):
        options: dict[str, Any] = {"drop_threshold": 1}
        messages = history_of(number * _RESULTS, seed)
        if number % 2:
            options["max_output_tokens"] = counts_output()(messages) // 2
        yield archived_request(messages, options=options)


async def compact_and_report(directory: str, seed: int, compactions: int) -> None:
    step = CompactContextStep(
        as_decision_model=by_hash(),
        archive=Archive(FilesystemStorage(directory, threads=1 + seed % 4)),
        token_counter=counts_output(),
    )
    for request in requests_of(seed, compactions):
        answer = (await step(**request)).answer
        lines = [
            {"reference": decision["source_ref"], "number": int(decision["call_id"]), "seed": seed}
            for decision in decisions_of(answer)
        ]
        os.write(1, "".join(f"{json.dumps(line)}\n" for line in lines).encode())


def kill_many(directory: str, runs: int, seed: int) -> None:
    """Fork a child for every run, which dies at a random call; all write to one archive and to standard output."""
    random = Random(seed)  # noqa: S311 - test data
    # What is imported late is imported once here, not in every child.
    asyncio.run(compact_and_report(directory, -1, 2))
    for run in range(runs):
        count, half_written = random.randrange(1, CALLS_OF_ONE_RUN), random.random() < 0.5
        child = os.fork()
        if child == 0:
            die_at(count, half_written=half_written)
            asyncio.run(compact_and_report(directory, run, 3))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        ended = "killed" if os.WIFSIGNALED(status) else f"exit {os.WEXITSTATUS(status)}"
        os.write(1, f"{json.dumps({'run': run, 'ended': ended})}\n".encode())


def original_of(line: dict[str, Any]) -> Any:
    """Return the output that a line's reference was given for."""
    output = output_of(line["number"], line["seed"])
    return [text(output)] if line["number"] % 5 == 0 else output


def main() -> None:
    directory, role, first, second = sys.argv[1:]
    if role == "kill":
        kill_many(directory, int(first), int(second))
    else:
        asyncio.run(compact_and_report(directory, int(first), int(second)))


if __name__ == "__main__":
    main()
