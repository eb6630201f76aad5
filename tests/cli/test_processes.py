"""The real `reme`, as processes: against a running service, without one, and when things break."""

import json
import os
import pty
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from scripted_service import JOB_ID

from reme_compact.cli.exit_codes import ExitCode
from reme_compact.cli.help import paste_example
from reme_compact.contract.request import CompactionRequest

Run: TypeAlias = Callable[..., subprocess.CompletedProcess[bytes]]

REME = Path(sys.executable).with_name("reme")
EXAMPLE = [
    f"{key}={value if isinstance(value, str) else json.dumps(value)}"
    for key, value in CompactionRequest.example.items()
]


HEAVY = ["fastapi", "uvicorn", "httpx", "numpy", "agentscope", "tiktoken", "celery", "redis", "structlog"]
AWAY = ("backend=agentscope", "credential.api_key=x", "credential.base_url=http://127.0.0.1:9", "max_retries=0")


def check_example(response: dict[str, Any]) -> None:
    assert response["success"] is True
    answer = response["answer"]
    assert answer["messages"] == CompactionRequest.example["messages"]
    assert [(decision["action"], decision["reason"]) for decision in answer["decisions"]] == [("keep", "no_savings")]
    assert answer["reason"] == "no_change"


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[bytes]:
    path = f"{REME.parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(  # noqa: S603 - our own program
        ["/bin/sh", "-c", command],
        capture_output=True,
        check=False,
        timeout=60,
        cwd=folder,
        env={**os.environ, "PATH": path},
    )


def test_the_pasted_example_works_with_the_service(port: str, tmp_path: Path) -> None:
    (tmp_path / "here.yaml").write_text(f"extends: decision_compaction\nservice:\n  port: {port}\n")
    done = shell(f"{paste_example()} config=./here.yaml", tmp_path)
    assert (done.returncode, done.stderr) == (ExitCode.PROPOSAL, b"")
    assert done.stdout.count(b"\n") == 1
    check_example(json.loads(done.stdout))


def test_the_pasted_example_works_without_a_service(tmp_path: Path) -> None:
    command = paste_example().replace(
        "reme compact_context", "reme start config=decision_compaction job=compact_context"
    )
    done = shell(command, tmp_path)
    assert (done.returncode, done.stderr) == (ExitCode.PROPOSAL, b"")
    assert done.stdout.count(b"\n") == 1
    check_example(json.loads(done.stdout))


def test_a_problem_of_the_service_is_a_typed_failure(port: str, reme: Run) -> None:
    done = reme("compact_context", *EXAMPLE, f"port={port}", "options.drop_threshold=5", "output=json")
    assert done.returncode == ExitCode.FAILURE
    assert done.stdout == b""
    problem = json.loads(done.stderr)
    assert problem["code"] == "invalid_request"
    assert problem["problems"][0]["path"] == "options.drop_threshold"


def test_the_same_problem_without_a_service(reme: Run) -> None:
    done = reme("start", "job=compact_context", *EXAMPLE, "options.drop_threshold=5", "output=json")
    assert done.returncode == ExitCode.FAILURE
    problem = json.loads(done.stderr)
    assert (problem["code"], problem["problems"][0]["path"]) == ("invalid_request", "options.drop_threshold")


def test_standard_input_and_overrides(port: str, reme: Run) -> None:
    whole = json.dumps(CompactionRequest.example).encode()
    words = ("compact_context", "request=-", f"port={port}", "eligible_tool_names=[]", "output=json")
    done = reme(*words, input=whole)
    assert done.returncode == ExitCode.PROPOSAL
    assert json.loads(done.stdout)["answer"]["reason"] == "no_candidates"


def test_settings_of_the_preset_can_be_overridden_for_one_job(reme: Run) -> None:
    overridden = "components.as_decision_model.compaction.backend=agentscope"
    done = reme("start", "job=compact_context", *EXAMPLE, overridden, "output=report")
    assert done.returncode == ExitCode.FAILURE
    assert b"DECISION_MODEL_API_KEY" in done.stderr
    assert b"Traceback" not in done.stderr


def test_nobody_listening_is_unreachable(reme: Run) -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        done = reme("compact_context", *EXAMPLE, f"port={reserved.getsockname()[1]}", "output=report")
    assert done.returncode == ExitCode.UNREACHABLE
    assert b"reme start config=decision_compaction" in done.stderr


def test_the_package_runs_as_a_module(tmp_path: Path) -> None:
    def run(*command: str | Path) -> tuple[int, bytes, bytes]:
        done = subprocess.run([*command, "start", "goal=x"], capture_output=True, check=False, timeout=60, cwd=tmp_path)  # noqa: S603 - our own program
        return done.returncode, done.stdout, done.stderr

    assert run(sys.executable, "-m", "reme_compact") == run(REME)


def test_bytes_that_are_not_text_are_a_mistake(reme: Run) -> None:
    done = reme("compact_context", b"goal=\xff")
    assert done.returncode == ExitCode.USAGE
    assert b"goal: the value is not valid UTF-8" in done.stderr


@pytest.mark.parametrize("output", ["json", "messages", "report"])
def test_a_closed_pipe_ends_quietly(output: str) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run(  # noqa: S603 - our own program
        [REME, "start", "job=compact_context", *EXAMPLE, f"output={output}"],
        stdout=write_end,
        stderr=subprocess.PIPE,
        check=False,
        timeout=60,
    )
    os.close(write_end)
    assert (done.returncode, done.stderr) == (ExitCode.PROPOSAL, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_is_a_typed_failure() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(  # noqa: S603 - our own program
            [REME, "start", "job=compact_context", *EXAMPLE],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            timeout=60,
        )
    assert done.returncode == ExitCode.FAILURE
    assert json.loads(done.stderr)["code"] == "output_failed"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize(
    ("words", "redirections", "exit_code"),
    [
        ("--help", ">/dev/full", ExitCode.FAILURE),
        ("help start", ">/dev/full", ExitCode.FAILURE),
        ("--version", ">/dev/full 2>/dev/full", ExitCode.FAILURE),
        ("--help", ">&-", ExitCode.PROPOSAL),
        ("", "2>/dev/full", ExitCode.USAGE),
        ("compact_context bogus=1", "2>/dev/full", ExitCode.USAGE),
        ("compact_context bogus=1", "2>&-", ExitCode.USAGE),
        ("compact_context bogus=1", "<&- >&- 2>&-", ExitCode.USAGE),
        ("compact_context request=-", "<&-", ExitCode.USAGE),
        ("start config=nowhere", "2>/dev/full", ExitCode.USAGE),
        ("strat", "2>/dev/full", ExitCode.USAGE),
    ],
)
def test_a_stream_that_cannot_be_used_changes_no_exit_code(
    words: str, redirections: str, exit_code: ExitCode, tmp_path: Path
) -> None:
    done = shell(f"reme {words} {redirections}", tmp_path)
    assert done.returncode == exit_code
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr


def test_a_deleted_working_directory_is_no_obstacle(tmp_path: Path) -> None:
    job = " ".join(shlex.quote(word) for word in ("reme", "start", "job=compact_context", *EXAMPLE))
    done = shell(f"mkdir gone && cd gone && rmdir ../gone && {job}", tmp_path)
    assert (done.returncode, done.stderr) == (ExitCode.PROPOSAL, b"")
    check_example(json.loads(done.stdout))


@pytest.mark.parametrize("name", ["self", "values", "request", "args"])
def test_a_key_that_is_also_a_name_in_python_is_just_unknown(name: str, tmp_path: Path) -> None:
    (tmp_path / "request.json").write_text(json.dumps({**CompactionRequest.example, name: 1}))
    done = shell("reme start job=compact_context request=@request.json", tmp_path)
    assert done.returncode == ExitCode.FAILURE
    assert json.loads(done.stderr)["problems"][0]["path"] == name


def test_the_service_runs_with_every_stream_closed(tmp_path: Path, reme: Run) -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
    command = f"exec {REME} start service.port={port} <&- >&- 2>&-"
    with subprocess.Popen(["/bin/sh", "-c", command], cwd=tmp_path) as process:  # noqa: S603 - our own program
        try:
            done = reme("compact_context", *EXAMPLE, f"port={port}")
            while done.returncode == ExitCode.UNREACHABLE and process.poll() is None:
                done = reme("compact_context", *EXAMPLE, f"port={port}")
        finally:
            process.send_signal(signal.SIGTERM)
    assert process.returncode == ExitCode.PROPOSAL
    check_example(json.loads(done.stdout))


def test_an_interrupt_ends_a_waiting_call_without_a_traceback() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        with subprocess.Popen(  # noqa: S603 - our own program
            [REME, "compact_context", *EXAMPLE, f"port={silent.getsockname()[1]}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            connection, _ = silent.accept()
            process.send_signal(signal.SIGINT)
            written, complaint = process.communicate(timeout=60)
            connection.close()
    assert (process.returncode, written, complaint) == (ExitCode.INTERRUPTED, b"", b"")


def test_a_terminal_gets_the_report() -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(  # noqa: S603 - our own program
        [REME, "start", "job=compact_context", *EXAMPLE],
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "110", "NO_COLOR": "1"},
    ) as process:
        os.close(theirs)
        shown = _read_all(ours)
    assert process.returncode == ExitCode.PROPOSAL
    assert "Proposal: no_change" in shown
    assert "the result is too short to get shorter" in shown


def test_an_outage_is_told_once_on_each_stream_of_a_terminal(tmp_path: Path) -> None:
    request = Path(__file__).parents[2] / "examples" / "incident_request.json"
    away = [f"components.as_decision_model.compaction.{setting}" for setting in AWAY]
    ours, theirs = pty.openpty()
    with subprocess.Popen(  # noqa: S603 - our own program
        [REME, "start", "job=compact_context", f"request=@{request}", *away],
        stdout=theirs,
        stderr=theirs,
        cwd=tmp_path,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "110", "NO_COLOR": "1"},
    ) as process:
        os.close(theirs)
        shown = _read_all(ours)
    assert process.returncode == ExitCode.PROPOSAL
    assert shown.count("ecision model failed, its results are kept: provider_unreachable: ") == 2
    assert shown.startswith("reme: decision model failed, its results are kept: provider_unreachable: ")
    assert "Warning: " not in shown


def _read_all(terminal: int) -> str:
    chunks = []
    with os.fdopen(terminal, "rb", buffering=0) as stream:
        while True:
            try:
                chunk = stream.read(4096)
            except OSError:  # how Linux says that the other side is closed
                break
            if not chunk:
                break
            chunks.append(chunk)
    return b"".join(chunks).decode()


@pytest.mark.parametrize(
    ("words", "unwanted"),
    [
        (["--version"], ["pydantic", "yaml", "httpx", "rich", "numpy", "anyio"]),
        (["--help"], ["pydantic", "yaml", "httpx", "rich", "numpy", "anyio"]),
        (
            ["compact_context", *EXAMPLE, "port=1"],
            [*HEAVY, "rich"],
        ),
        (["submit", "compact_context", *EXAMPLE, "port=1"], [*HEAVY, "rich"]),
        (["jobs", "host=127.0.0.1", "port=1"], [*HEAVY, "rich", "yaml", "reme_compact.presets.schema"]),
        (["watch", JOB_ID, "host=127.0.0.1", "port=1"], [*HEAVY, "rich", "yaml", "reme_compact.presets.schema"]),
        (["cancel", JOB_ID, "host=127.0.0.1", "port=1"], [*HEAVY, "rich", "yaml", "reme_compact.presets.schema"]),
        (["result", JOB_ID, "host=127.0.0.1", "port=1"], [*HEAVY, "rich", "yaml", "reme_compact.presets.schema"]),
    ],
    ids=["version", "help", "call", "submit", "jobs", "watch", "cancel", "result"],
)
def test_nothing_is_imported_that_is_not_needed(words: list[str], unwanted: list[str]) -> None:
    script = (
        "import sys; from reme_compact.cli.main import main; main(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", script, *words], capture_output=True, check=True, timeout=60, text=True
    )
    loaded = set(done.stderr.splitlines()[-1].split())
    assert "reme_compact.cli.main" in loaded
    assert loaded & set(unwanted) == set()
