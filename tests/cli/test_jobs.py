import io
import json
import shlex
import sys
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from scripted_service import JOB_ID, ScriptedService, job_document, problem
from terminal import Terminal

from reme_compact.cli.exit_codes import ExitCode
from reme_compact.cli.job_text import age
from reme_compact.cli.main import main
from reme_compact.client.jobs import jobs_path

NOW = "Tue, 01 Dec 2026 10:05:00 GMT"
OTHER_ID = "019a0c6f2b1f-0123456789abcdef0123"
FAILURE = {"code": "token_counter_failed", "error": "TokenCounterError", "message": "It raised.", "retryable": True}
RUNNING = {"candidates": 60, "asked": 40, "scored": 12, "batches": 10, "batches_scored": 3}


def jobs(scripted: ScriptedService, *words: str, output: str = "table") -> int:
    return main(["jobs", *words, "host=127.0.0.1", f"port={scripted.port}", f"output={output}"])


def test_a_line_for_each_job(scripted: ScriptedService, capsys: pytest.CaptureFixture[str]) -> None:
    page = [
        job_document(status="running", progress=RUNNING),
        job_document(id=OTHER_ID, status="failed", error=FAILURE, created_at="2026-12-01T10:04:51+00:00"),
        job_document(waiting_for="worker", created_at="2026-11-30T09:00:00"),
    ]
    scripted.answers("GET /jobs", 200, {"jobs": page, "next_cursor": None}, Date=NOW)
    assert jobs(scripted) == ExitCode.PROPOSAL
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["ID", "STATUS", "PROGRESS", "AGE", "ERROR"]
    assert lines[1].split() == [JOB_ID, "running", "12/40", "5", "min", "-"]
    assert lines[2].split() == [OTHER_ID, "failed", "-", "9", "s", "token_counter_failed"]
    assert lines[3].split() == [JOB_ID, "queued,", "no", "worker", "-", "1", "d", "-"]
    assert len({line.index(word) for line, word in zip(lines, ("STATUS", "running", "failed"), strict=False)}) == 1


def test_the_page_as_it_came(scripted: ScriptedService, capfd: pytest.CaptureFixture[str]) -> None:
    page = {"jobs": [job_document(owner="ü")], "next_cursor": "a"}
    scripted.answers("GET /jobs", 200, page)
    assert jobs(scripted, output="json") == ExitCode.PROPOSAL
    assert json.loads(capfd.readouterr().out) == page


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "There are no jobs.\n"),
        (["status=running"], "There are no jobs that are running.\n"),
        (["cursor=x"], "There are no older jobs.\n"),
    ],
)
def test_no_jobs_are_said_to_be_none(
    words: list[str], said: str, scripted: ScriptedService, capsys: pytest.CaptureFixture[str]
) -> None:
    scripted.answers("GET /jobs", 200, {"jobs": [], "next_cursor": None})
    assert jobs(scripted, *words) == ExitCode.PROPOSAL
    assert capsys.readouterr().out == said


def test_the_way_to_older_jobs_can_be_pasted(scripted: ScriptedService, capsys: pytest.CaptureFixture[str]) -> None:
    scripted.answers("GET /jobs", 200, {"jobs": [job_document()], "next_cursor": "$(x) é"}, Date=NOW)
    assert jobs(scripted, "status=queued", "limit=1") == ExitCode.PROPOSAL
    older = capsys.readouterr().out.splitlines()[-1]
    assert older.startswith("Older jobs: reme jobs status=queued limit=1 'cursor=$(x) é' host=127.0.0.1 port=")


def test_the_query_is_percent_encoded(scripted: ScriptedService) -> None:
    scripted.answers("GET /jobs", 200, {"jobs": [], "next_cursor": None})
    assert jobs(scripted, "status=timed_out", "limit=7", "cursor=a&limit=9 é") == ExitCode.PROPOSAL
    assert scripted.paths() == ["GET /jobs?status=timed_out&limit=7&cursor=a%26limit%3D9+%C3%A9"]


def test_one_job_in_detail(scripted: ScriptedService, capsys: pytest.CaptureFixture[str]) -> None:
    document = job_document(
        status="failed",
        progress=RUNNING,
        started_at="2026-12-01T10:00:01Z",
        finished_at="2026-12-01T12:00:02+02:00",
        expires_at="2026-12-01T11:00:02Z",
        error={**FAILURE, "message": "It\x1b[2J raised.\nTwice."},
    )
    scripted.answers(f"GET /jobs/{JOB_ID}", 200, document, Date=NOW)
    assert jobs(scripted, JOB_ID) == ExitCode.PROPOSAL
    assert [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines() if "removed" not in line] == [
        ["id", JOB_ID],
        ["job", "compact_context"],
        ["status", "failed"],
        ["progress", "12 of 40 scored, in 3 of 10 requests; 60 candidates"],
        ["created", "2026-12-01 10:00:00 UTC (5 min ago)"],
        ["started", "2026-12-01 10:00:01 UTC (4 min ago)"],
        ["finished", "2026-12-01 10:00:02 UTC (4 min ago)"],
        ["error", r"token_counter_failed: It\x1b[2J raised.\nTwice. (trying again may help)"],
    ]


def test_a_job_that_waits_for_a_worker_says_so(scripted: ScriptedService, capsys: pytest.CaptureFixture[str]) -> None:
    scripted.answers(f"GET /jobs/{JOB_ID}", 200, job_document(waiting_for="worker"))
    assert jobs(scripted, f"id={JOB_ID}") == ExitCode.PROPOSAL
    assert "a worker: none is there that could run it" in capsys.readouterr().out


def test_a_terminal_gets_the_table_and_a_pipe_gets_json(
    scripted: ScriptedService, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    scripted.answers("GET /jobs", 200, {"jobs": [], "next_cursor": None})
    words = ["jobs", "host=127.0.0.1", f"port={scripted.port}"]
    assert main(words) == ExitCode.PROPOSAL
    assert json.loads(capfd.readouterr().out)["jobs"] == []
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    assert main(words) == ExitCode.PROPOSAL
    assert terminal.text() == "There are no jobs.\n"


def test_a_closed_standard_output_is_no_failure(scripted: ScriptedService, monkeypatch: pytest.MonkeyPatch) -> None:
    scripted.answers("GET /jobs", 200, {"jobs": [], "next_cursor": None})
    monkeypatch.setattr(sys, "stdout", None)
    assert jobs(scripted) == ExitCode.PROPOSAL
    assert jobs(scripted, output="json") == ExitCode.PROPOSAL


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["status=done"], "status: must be one of queued, running, succeeded"),
        (["status=runing"], "status: unknown status; did you mean 'running'?"),
        (["limit=0"], "limit: must be a whole number from 1 to 100"),
        (["limit=101"], "limit: must be a whole number from 1 to 100"),
        (["limit=ten"], "limit: must be a whole number"),
        (["lmit=3"], "lmit: unknown key; did you mean 'limit'?"),
        (["status"], "status=VALUE"),
        (["output=report"], "output: must be table or json"),
        ([JOB_ID, "status=running"], "status: is for the list of jobs"),
        ([JOB_ID, OTHER_ID], "id: one job at a time"),
        ([JOB_ID, f"id={OTHER_ID}"], "id: one job at a time"),
        (["../health"], "'../health' is not the id of a job"),
        ([f"{JOB_ID}/result"], "is not the id of a job"),
        (["019A0C6F2B1E-0123456789ABCDEF0123"], "is not the id of a job"),
        (["\x1b[2J"], r"'\x1b[2J' is not the id of a job"),
        (["é" * 1000], "is not the id of a job"),
    ],
)
def test_a_mistake_is_explained_before_anything_is_sent(
    words: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["jobs", *words]) == ExitCode.USAGE
    complaint = capsys.readouterr().err
    assert named in complaint
    assert len(complaint) < 500
    assert "reme jobs --help" in complaint


@pytest.mark.parametrize(
    ("code", "advice"),
    [("job_not_found", "reme jobs host=127.0.0.1 port="), ("job_expired", "Submit the request again")],
)
def test_a_job_that_is_not_there_says_what_to_do(
    code: str, advice: str, scripted: ScriptedService, capsys: pytest.CaptureFixture[str]
) -> None:
    scripted.answers(f"GET /jobs/{JOB_ID}", 404, problem(404, code))
    assert jobs(scripted, JOB_ID) == ExitCode.FAILURE
    assert advice in capsys.readouterr().err


def test_a_service_without_jobs_is_told_apart_from_a_job_that_is_not_there(
    scripted: ScriptedService, capsys: pytest.CaptureFixture[str]
) -> None:
    scripted.answers("GET /jobs", 404, problem(404, "not_found"))
    assert jobs(scripted) == ExitCode.FAILURE
    assert f"The service at 127.0.0.1:{scripted.port} has no jobs" in capsys.readouterr().err


@pytest.mark.parametrize("page", [[], {}, {"jobs": 3, "next_cursor": None}, {"jobs": [1], "next_cursor": None}])
def test_an_answer_that_is_no_page_is_no_service(
    page: Any, scripted: ScriptedService, capsys: pytest.CaptureFixture[str]
) -> None:
    scripted.answers("GET /jobs", 200, page)
    assert jobs(scripted) == ExitCode.UNREACHABLE
    assert "is not a reme service (HTTP status 200; no " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("seconds", "text"), [(-5, "0 s"), (59, "59 s"), (60, "1 min"), (3599, "59 min"), (7200, "2 h"), (90_000, "1 d")]
)
def test_ages_have_one_unit(seconds: int, text: str) -> None:
    now = datetime(2026, 12, 1, tzinfo=UTC)
    assert age(now - timedelta(seconds=seconds), now) == text


def test_paths_are_percent_encoded() -> None:
    assert jobs_path("a/b ü?", "result") == "/jobs/a%2Fb%20%C3%BC%3F/result"


def test_blank_keys_of_the_list_count_as_absent(scripted: ScriptedService) -> None:
    scripted.answers("GET /jobs", 200, {"jobs": [], "next_cursor": None})
    assert jobs(scripted, "status=", "limit= ", "cursor=") == ExitCode.PROPOSAL
    assert jobs(scripted, "status= running", "limit=007") == ExitCode.PROPOSAL
    assert scripted.paths() == ["GET /jobs", "GET /jobs?status=running&limit=7"]


@pytest.mark.parametrize("cursor", ["-", "@x", "\\-"])
def test_a_cursor_can_be_pasted_whatever_it_is(
    cursor: str, scripted: ScriptedService, capsys: pytest.CaptureFixture[str]
) -> None:
    scripted.answers("GET /jobs", 200, {"jobs": [job_document()], "next_cursor": cursor}, Date=NOW)
    assert jobs(scripted) == ExitCode.PROPOSAL
    older = capsys.readouterr().out.splitlines()[-1].removeprefix("Older jobs: ")
    assert main([*shlex.split(older)[1:], "output=table"]) == ExitCode.PROPOSAL
    assert scripted.paths()[-1] == f"GET /jobs?{urlencode({'cursor': cursor})}"


def test_an_id_may_come_from_standard_input(scripted: ScriptedService, monkeypatch: pytest.MonkeyPatch) -> None:
    scripted.answers(f"GET /jobs/{JOB_ID}", 200, job_document(), Date=NOW)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(f"{JOB_ID}\n".encode())))
    assert jobs(scripted, "id=-") == ExitCode.PROPOSAL
    assert scripted.paths() == [f"GET /jobs/{JOB_ID}"]
