import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reme_compact.cli.exit_codes import ExitCode
from reme_compact.cli.main import main

URL = "redis://127.0.0.1:6379/0"


@pytest.fixture(autouse=True)
def no_server_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REDIS_URL", raising=False)


@pytest.fixture
def supervised(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the supervision was called with; it ends at once, as if stopped."""
    calls: list[dict[str, Any]] = []

    def supervise(
        arguments: Any,
        role: str,
        concurrency: int | None,
        pool: str,
        *,
        metrics_port: int | None,
        metrics_host: str,
    ) -> int:
        calls.append(
            {
                "config": arguments.config,
                "overrides": dict(arguments.overrides),
                "role": role,
                "concurrency": concurrency,
                "pool": pool,
                "metrics": (metrics_host, metrics_port),
            }
        )
        return 0

    monkeypatch.setitem(sys.modules, "reme_workers.supervision", SimpleNamespace(supervise=supervise))
    return calls


def test_a_worker_is_supervised_with_what_was_asked_for(supervised: list[dict[str, Any]]) -> None:
    words = ["role=scores", "concurrency=3", "pool=prefork", f"redis_url={URL}", "execution.lease_seconds=2"]
    assert main(["worker", *words]) == ExitCode.PROPOSAL
    assert supervised == [
        {
            "config": "distributed",
            "overrides": {"execution.redis.url": URL, "execution.lease_seconds": "2"},
            "role": "scores",
            "concurrency": 3,
            "pool": "prefork",
            "metrics": ("127.0.0.1", None),
        }
    ]


def test_defaults_are_the_worker_s_own(supervised: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDIS_URL", URL)
    assert main(["worker", "role=jobs", "metrics_port=9100"]) == ExitCode.PROPOSAL
    (call,) = supervised
    assert (call["concurrency"], call["pool"], call["overrides"]) == (None, "threads", {})
    assert call["metrics"] == ("127.0.0.1", 9100)


@pytest.mark.parametrize(("given", "host"), [("0.0.0.0", "0.0.0.0"), ("[::1]", "::1"), ("jobs-1", "jobs-1")])
def test_metrics_may_be_served_elsewhere(given: str, host: str, supervised: list[dict[str, Any]]) -> None:
    words = ["role=jobs", f"redis_url={URL}", "metrics_port=9101", f"metrics_host={given}"]
    assert main(["worker", *words]) == ExitCode.PROPOSAL
    assert supervised[0]["metrics"] == (host, 9101)


def test_an_address_with_a_password_may_come_from_a_file(supervised: list[dict[str, Any]], tmp_path: Path) -> None:
    secret = "redis://user:s3cret@127.0.0.1:6379/0"
    (tmp_path / "url").write_text(f"{secret}\n")
    assert main(["worker", "role=jobs", "redis_url=@url"]) == ExitCode.PROPOSAL
    assert supervised[0]["overrides"] == {"execution.redis.url": secret}


def test_a_wrong_address_in_the_environment_is_refused_at_once(
    supervised: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("REDIS_URL", "redis://:s3cret@127.0.0.1:6379/0x")
    assert main(["worker", "role=jobs"]) == ExitCode.FAILURE
    complaint = capsys.readouterr().err
    assert "execution.redis.url: what stands after the last slash must be the number of a database" in complaint
    assert "s3cret" not in complaint
    assert supervised == []


def test_the_exit_code_is_the_supervision_s(supervised: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        sys.modules, "reme_workers.supervision", SimpleNamespace(supervise=lambda *_, **__: int(ExitCode.FAILURE))
    )
    assert main(["worker", "role=jobs", f"redis_url={URL}"]) == ExitCode.FAILURE


@pytest.mark.parametrize("role", ["jobs,scores", "scores,jobs", "jobs, scores"])
def test_one_process_for_both_roles_is_refused_with_the_reason(
    role: str, supervised: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["worker", f"role={role}", f"redis_url={URL}"]) == ExitCode.USAGE
    complaint = capsys.readouterr().err
    assert "deadlock" in complaint
    assert "  reme worker role=jobs\n" in complaint
    assert "  reme worker role=scores\n" in complaint
    assert supervised == []


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ([], "role: is required"),
        (["role=boss"], "role: must be one of jobs, scores"),
        (["role=scores", "pool=gevent"], "pool: must be one of threads, prefork"),
        (["role=jobs", "pool=prefork"], "pool: prefork is for role=scores"),
        (["role=jobs", "concurrency=0"], "concurrency: must be a whole number from 1"),
        (["role=jobs", "concurrency=many"], "concurrency: must be a whole number"),
        (["role=scores", "metrics_port=9100"], "metrics_port: is for role=jobs"),
        (["role=jobs", "metrics_port=70000"], "metrics_port: must be a whole number from 1 to 65535"),
        (["rol=jobs"], "rol: unknown key; did you mean 'role'?"),
        (["jobs"], "'jobs': a key is missing; did you mean role=jobs?"),
        (["role=jobs", "config=nowhere"], "config: There is no preset named 'nowhere'"),
        (["role=jobs", "execution.lease=1"], "execution.lease: unknown key"),
        (["role=jobs", "redis_url=a", "execution.redis.url=b"], "redis_url: is short for execution.redis.url"),
        (["role=jobs", "redis_url="], "redis_url: is empty"),
        (["role=jobs", "redis_url=redis://127.0.0.1:1/0x"], "redis_url: what stands after the last slash must be the"),
        (["role=jobs", "execution.redis.url=redis:///0"], "execution.redis.url: the host is missing"),
        (["role=jobs", "metrics_host=0.0.0.0"], "metrics_host: is for metrics that are served; add metrics_port="),
        (["role=jobs", "metrics_host=a:9101", "metrics_port=1"], "port on its own: metrics_host=a metrics_port=9101."),
    ],
)
def test_a_mistake_is_explained(
    words: list[str], named: str, supervised: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["worker", *words]) == ExitCode.USAGE
    assert named in capsys.readouterr().err
    assert supervised == []


def test_a_missing_server_is_said_with_both_ways(
    supervised: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["worker", "role=jobs"]) == ExitCode.USAGE
    complaint = capsys.readouterr().err
    assert "  reme worker role=jobs redis_url=redis://127.0.0.1:6379/0\n" in complaint
    assert "  reme start config=distributed workers=local\n" in complaint
    assert supervised == []


def test_a_preset_without_workers_needs_none(
    supervised: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["worker", "role=jobs", "config=decision_compaction"]) == ExitCode.FAILURE
    assert "config=distributed is one that has them" in capsys.readouterr().err
    assert supervised == []


def test_a_scores_worker_that_would_idle_is_warned(
    supervised: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["worker", "role=scores", f"redis_url={URL}", "execution.scoring=inline"]) == ExitCode.PROPOSAL
    assert "this one idles" in capsys.readouterr().err
    assert len(supervised) == 1


@pytest.mark.parametrize("missing", ["celery", "redis"])
def test_a_missing_package_is_named_by_its_extra(
    missing: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        "reme_compact.cli.workers_package.find_spec", lambda name: None if name == missing else find_spec(name)
    )
    assert main(["worker", "role=jobs", f"redis_url={URL}"]) == ExitCode.FAILURE
    complaint = capsys.readouterr().err
    assert "missing_extra" in complaint
    assert "reme-compact[distributed]" in complaint


def test_no_password_is_told(supervised: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]) -> None:
    secret = "redis://user:s3cret@127.0.0.1:6379/0"
    main(["worker", "role=jobs", f"redis_url={secret}", "execution.redis.url=x"])
    main(["worker", "role=jobs", f"redis_url={secret}", "config=decision_compaction"])
    main(["worker", "role=boss", f"redis_url={secret}"])
    assert "s3cret" not in "".join(capsys.readouterr())
