"""What a worker process is told."""

import os

import pytest
from reme_workers.worker_arguments import PresetArguments, WorkerArguments, check_arguments

from reme_compact.contract.errors import ConfigurationError

PRESET = PresetArguments("distributed", {"service.log_level": "error"})


def test_they_arrive_as_they_were_given_and_are_not_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    told = WorkerArguments(PRESET, "scores", 3, "prefork", metrics_port=9000, metrics_host="::1")
    for name, value in told.environment().items():
        monkeypatch.setenv(name, value)
    assert WorkerArguments.from_environment() == told
    assert not set(told.environment()) & set(os.environ)


def test_a_role_has_its_own_concurrency() -> None:
    assert check_arguments(PRESET, "jobs", None, "threads").concurrency == 16
    assert check_arguments(PRESET, "scores", None, "threads").concurrency == 8
    assert check_arguments(PRESET, "scores", 3, "prefork").concurrency == 3


@pytest.mark.parametrize(
    ("role", "concurrency", "pool", "match"),
    [
        ("jobs,scores", None, "threads", "role"),
        ("all", None, "threads", "role"),
        ("jobs", None, "prefork", "prefork"),
        ("jobs", None, "gevent", "pool"),
        ("scores", 0, "threads", "concurrency"),
    ],
)
def test_what_makes_no_sense_is_refused(role: str, concurrency: int | None, pool: str, match: str) -> None:
    with pytest.raises(ConfigurationError, match=match):
        check_arguments(PRESET, role, concurrency, pool)


def test_the_preset_is_the_one_that_was_named() -> None:
    assert PRESET.load().service.log_level == "error"
