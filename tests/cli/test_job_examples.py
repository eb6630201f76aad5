"""The examples of the help work when they are pasted into a POSIX shell."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from scripted_service import ScriptedService, job_document

from reme_compact.cli.exit_codes import ExitCode
from reme_compact.cli.help import start_help
from reme_compact.cli.job_help import cancel_help, jobs_help, result_help, submit_help, watch_help, worker_help
from reme_compact.cli.main import main
from reme_compact.contract.request import CompactionRequest
from reme_compact.jobs.identity import is_job_id

BIN = Path(sys.executable).parent


def examples(text: str) -> list[str]:
    """Return the blocks of a help text that are commands."""
    return [block for block in text.split("\n\n") if block.startswith(("  reme ", "  id="))]


def paste(script: str, port: int | str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Paste into a shell in which `reme` means the service at a port, whatever follows."""
    (folder / "request.json").write_text(json.dumps(CompactionRequest.example))
    function = f'reme() {{ command reme "$@" host=127.0.0.1 port={port}; }}\n'
    return subprocess.run(  # noqa: S603 - our own program
        ["/bin/sh", "-e", "-c", function + script],
        capture_output=True,
        check=False,
        timeout=60,
        text=True,
        cwd=folder,
        env={**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"},
    )


@pytest.mark.parametrize(
    ("text", "count"),
    [(submit_help, 2), (jobs_help, 1), (watch_help, 1), (result_help, 1), (cancel_help, 1)],
    ids=["submit", "jobs", "watch", "result", "cancel"],
)
def test_they_work_with_the_service(text: Callable[[], str], count: int, port: str, tmp_path: Path) -> None:
    found = examples(text())
    assert len(found) == count
    for example in found:
        done = paste(example, port, tmp_path)
        assert (done.returncode, done.stderr) == (ExitCode.PROPOSAL, ""), example
        assert done.stdout


def test_a_job_from_its_id_to_its_result(port: str, tmp_path: Path) -> None:
    submitted, script = examples(submit_help())
    assert is_job_id(paste(submitted, port, tmp_path).stdout.strip())
    *watched, result = paste(script, port, tmp_path).stdout.splitlines()
    assert watched[-1] == "succeeded"
    assert json.loads(result)["answer"]["messages"] == CompactionRequest.example["messages"]


def test_the_exit_code_of_a_script_is_the_job_s(scripted: ScriptedService, tmp_path: Path) -> None:
    document = job_document(status="cancelled")
    scripted.answers("POST /jobs/compact_context", 202, document)
    scripted.answers(f"GET /jobs/{document['id']}", 200, document)
    end = b'id: 1-0\nevent: finished\ndata: {"status":"cancelled","error":null}\n\n'
    scripted.streams(f"GET /jobs/{document['id']}/events", end)
    (example,) = examples(watch_help())
    done = paste(example, scripted.port, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (ExitCode.FAILURE, "cancelled\n", "")


def commands(text: str) -> Iterator[list[str]]:
    for block in examples(text):
        for line in block.replace("\\\n", " ").splitlines():
            yield shlex.split(line)[1:]


def test_workers_start_as_the_help_says(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []

    def supervise(_: object, role: str, *__: object, **___: object) -> int:
        started.append(role)
        return 0

    monkeypatch.setitem(sys.modules, "reme_workers.supervision", SimpleNamespace(supervise=supervise))
    assert [main(words) for words in commands(worker_help())] == [ExitCode.PROPOSAL, ExitCode.PROPOSAL]
    assert started == ["jobs", "scores"]


def test_services_start_as_the_help_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    served: list[Any] = []

    @contextmanager
    def local_deployment(_: Any) -> Iterator[str]:
        yield "unix:///somewhere"

    monkeypatch.setitem(sys.modules, "reme_compact.service.server", SimpleNamespace(serve=served.append))
    monkeypatch.setitem(
        sys.modules, "reme_workers.local_deployment", SimpleNamespace(local_deployment=local_deployment)
    )
    (tmp_path / "my_preset.yaml").write_text("extends: decision_compaction\n")
    starts = [words for words in commands(start_help()) if not any(word.startswith("job=") for word in words)]
    assert len(starts) == 4
    assert [main(words) for words in starts] == [ExitCode.PROPOSAL] * 4
    assert [preset.execution.runner for preset in served] == ["local", "celery", "celery", "local"]
