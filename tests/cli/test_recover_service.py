"""From a compaction that archives to the original on standard output, with a service as a user starts it."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reme_compact.cli.archive_help import archive_help, recover_help
from reme_compact.cli.exit_codes import ExitCode

Reme = Callable[..., subprocess.CompletedProcess[bytes]]

BIN = Path(sys.executable).parent
ORIGINAL = "😀 grün e\u0301 👩‍👩‍👧\r\n" + "icons/cart.svg, icons/user.svg\n" * 900 + "no last line break"
BYTES = ORIGINAL.encode()


def history() -> list[dict[str, Any]]:
    call = {"id": "c1", "name": "search_code"}
    pair = [
        {"type": "tool_call", **call, "input": '{"path":"icons"}', "state": "finished"},
        {"type": "tool_result", **call, "output": ORIGINAL, "state": "success"},
    ]
    return [
        {"role": "user", "content": [{"type": "text", "text": "Retries charge twice, fix them"}]},
        {"role": "assistant", "content": pair},
        {"role": "user", "content": [{"type": "text", "text": "Now look at the payment code"}]},
    ]


def request(folder: Path, session: str) -> str:
    """Write a request, and return how it is given on a command line."""
    options = {"preserve_recent_messages": 1, "drop_threshold": 1}
    body = {
        "messages": history(),
        "goal": "Fix payment retries",
        "eligible_tool_names": ["search_code"],
        "options": options,
        "archive": {"session": session},
    }
    (folder / "request.json").write_text(json.dumps(body))
    return "request=@request.json"


def reference_in(done: subprocess.CompletedProcess[bytes]) -> str:
    assert done.returncode == ExitCode.PROPOSAL, done.stderr
    (decision,) = json.loads(done.stdout)["answer"]["decisions"]
    assert decision["action"] == "preview", decision
    return str(decision["source_ref"])


def test_what_a_service_archived_is_read_back_byte_for_byte(port: str, reme: Reme, tmp_path: Path) -> None:
    where = ("host=127.0.0.1", f"port={port}")
    reference = reference_in(reme("compact_context", request(tmp_path, "over HTTP"), *where))
    done = reme("recover", f"ref={reference}", "all=true", *where)
    assert (done.returncode, done.stdout, done.stderr) == (ExitCode.PROPOSAL, BYTES, b"")
    piece = reme("recover", f"ref={reference}", "max_chars=100", *where)
    assert BYTES.startswith(piece.stdout)
    assert b"offset=100" in piece.stderr
    unknown = reme("recover", f"ref={reference[:-4]}0000", *where)
    assert unknown.returncode == ExitCode.FAILURE
    assert unknown.stderr.startswith(b"reme: reference_not_found: ")


def test_one_job_without_a_service_archives_too(reme: Reme, tmp_path: Path) -> None:
    reference = reference_in(reme("start", "job=compact_context", request(tmp_path, "embedded")))
    done = reme("recover", f"ref={reference}", "archive=archive", "all=true")
    assert (done.returncode, done.stdout, done.stderr) == (ExitCode.PROPOSAL, BYTES, b"")
    listed = json.loads(reme("archive", "list").stdout)
    assert [(one["session"], one["owner"], one["entries"]) for one in listed["sessions"]] == [("embedded", "", 1)]


def test_the_session_may_be_a_key_of_its_own(reme: Reme, tmp_path: Path) -> None:
    request(tmp_path, "in the file")
    reference_in(reme("start", "job=compact_context", "request=@request.json", "archive.session=beside it"))
    listed = json.loads(reme("archive", "list").stdout)
    assert [one["session"] for one in listed["sessions"]] == ["beside it"]


def examples(text: str) -> list[str]:
    (block,) = [block for block in text.split("\n\n") if block.startswith("  reme ")]
    return block.splitlines()


def paste(script: str, folder: Path, *where: str) -> subprocess.CompletedProcess[bytes]:
    """Paste into a shell in which `reme` means the service at an address, if one is given."""
    function = f'reme() {{ command reme "$@" {" ".join(where)}; }}\n'
    return subprocess.run(  # noqa: S603 - our own program
        ["/bin/sh", "-e", "-c", function + script],
        capture_output=True,
        check=False,
        timeout=60,
        cwd=folder,
        env={**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"},
    )


def test_the_examples_of_the_help_work(port: str, reme: Reme, tmp_path: Path) -> None:
    embedded = reference_in(reme("start", "job=compact_context", request(tmp_path, "examples")))
    where = ("host=127.0.0.1", f"port={port}")
    assert reference_in(reme("compact_context", "request=@request.json", *where)) == embedded
    for example in examples(recover_help()):
        asked = () if "archive=" in example else where
        done = paste(example.replace("archive/SESSION/CONTENT", embedded), tmp_path, *asked)
        assert done.returncode == ExitCode.PROPOSAL, (example, done.stderr)
    assert (tmp_path / "original.txt").read_bytes() == BYTES
    for example in examples(archive_help()):
        done = paste(example, tmp_path)
        assert (done.returncode, done.stderr) == (ExitCode.PROPOSAL, b""), example
        assert done.stdout
