import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import pytest

from reme_compact.cli.exit_codes import ExitCode
from reme_compact.cli.main import main
from reme_compact.contract.errors import StoreUnavailableError

URL = "redis://127.0.0.1:6379/0"
LOCAL_URL = "unix:///somewhere/server.sock"


@pytest.fixture(autouse=True)
def no_server_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REDIS_URL", raising=False)


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What was done, in order, by a service and workers that end at once."""
    done: list[Any] = []

    def serve(preset: Any) -> None:
        url = preset.execution.redis.url
        done.append(("served", url and url.get_secret_value()))

    @contextmanager
    def local_deployment(arguments: Any) -> Iterator[str]:
        done.append(("up", arguments.config, dict(arguments.overrides)))
        yield LOCAL_URL
        done.append("down")

    monkeypatch.setitem(sys.modules, "reme_compact.service.server", SimpleNamespace(serve=serve))
    monkeypatch.setitem(
        sys.modules, "reme_workers.local_deployment", SimpleNamespace(local_deployment=local_deployment)
    )
    return done


def test_a_server_can_be_named_shortly(steps: list[Any]) -> None:
    assert main(["start", "config=distributed", f"redis_url={URL}"]) == ExitCode.PROPOSAL
    assert steps == [("served", URL)]


def test_a_server_can_be_named_in_the_environment(steps: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDIS_URL", URL)
    assert main(["start", "config=distributed"]) == ExitCode.PROPOSAL
    assert steps == [("served", URL)]


def test_local_workers_are_up_while_the_service_runs(steps: list[Any]) -> None:
    words = ["config=distributed", "workers=local", "service.port=0"]
    assert main(["start", *words]) == ExitCode.PROPOSAL
    assert steps == [("up", "distributed", {"service.port": "0"}), ("served", LOCAL_URL), "down"]


def test_local_workers_have_a_server_of_their_own_whatever_the_environment_says(
    steps: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDIS_URL", URL)
    assert main(["start", "config=distributed", "workers=local"]) == ExitCode.PROPOSAL
    assert ("served", LOCAL_URL) in steps


def test_a_distributed_service_without_a_server_says_both_ways(
    steps: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["start", "config=distributed"]) == ExitCode.USAGE
    complaint = capsys.readouterr().err
    assert "  reme start config=distributed redis_url=redis://127.0.0.1:6379/0\n" in complaint
    assert "  reme start config=distributed workers=local\n" in complaint
    assert steps == []


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["workers=local"], "workers: is for a preset that has its jobs run by workers"),
        ([f"redis_url={URL}"], "redis_url: is for a preset that has its jobs run by workers"),
        (["config=distributed", "workers=3"], "workers: must be local"),
        (["config=distributed", "workers=local", f"redis_url={URL}"], "redis_url= must be left out"),
        (["config=distributed", f"redis_url={URL}", f"execution.redis.url={URL}"], "redis_url: is short for"),
        (["config=distributed", "redis_url= "], "redis_url: is empty"),
        (["job=compact_context", "messages=[]", "workers=local"], "workers: is for the service"),
        (["job=compact_context", "messages=[]", f"redis_url={URL}"], "redis_url: is for the service"),
        (["config=distributed", "worker=local"], "did you mean 'workers'?"),
        (["config=distributed", "workers"], "workers=VALUE"),
    ],
)
def test_a_mistake_is_explained(
    words: list[str], named: str, steps: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["start", *words]) == ExitCode.USAGE
    assert named in capsys.readouterr().err
    assert steps == []


def test_a_missing_package_is_named_by_its_extra(
    steps: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        "reme_compact.cli.workers_package.find_spec", lambda name: None if name == "celery" else find_spec(name)
    )
    assert main(["start", "config=distributed", "workers=local"]) == ExitCode.FAILURE
    assert "reme-compact[distributed]" in capsys.readouterr().err
    assert steps == []


def test_a_server_that_does_not_start_is_a_typed_failure(
    steps: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def local_deployment(_: Any) -> None:
        raise StoreUnavailableError("The server ended at once.")

    monkeypatch.setitem(
        sys.modules, "reme_workers.local_deployment", SimpleNamespace(local_deployment=local_deployment)
    )
    assert main(["start", "config=distributed", "workers=local"]) == ExitCode.FAILURE
    assert capsys.readouterr().err.startswith("reme: store_unavailable: The server ended at once.")
    assert steps == []


def test_a_distributed_job_without_a_service_runs_in_this_process(capfd: pytest.CaptureFixture[str]) -> None:
    words = ["job=compact_context", 'messages=[{"role":"user","content":[]}]', "output=json"]
    assert main(["start", "config=distributed", *words]) == ExitCode.PROPOSAL
    assert '"success":true' in capfd.readouterr().out
