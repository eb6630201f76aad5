"""How messages travel: where the broker is, under which keys, and for how long."""

from typing import Any

import pytest
from reme_workers.celery_app import build_celery_app, celery_key
from reme_workers.keys import PERMANENT_NAMES

from reme_compact.contract.errors import ConfigurationError
from reme_compact.presets.load import load_preset


def app(url: str, **overrides: str) -> Any:
    return build_celery_app(load_preset("distributed", overrides={"execution.redis.url": url, **overrides}))


@pytest.mark.parametrize(
    ("url", "broker"),
    [
        ("redis://user:secret@cache:6380/3", "redis://user:secret@cache:6380/3"),
        ("rediss://cache/0", "rediss://cache/0"),
        ("unix:///run/redis.sock", "redis+socket:///run/redis.sock?virtual_host=0"),
        ("unix://user:secret@/run/redis.sock?db=2", "redis+socket://user:secret@/run/redis.sock?virtual_host=2"),
    ],
)
def test_the_broker_is_the_server_of_the_store(url: str, broker: str) -> None:
    assert app(url).conf.broker_url == broker


def test_without_an_address_it_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"execution\.redis\.url"):
        build_celery_app(load_preset("distributed", environment={}))


def test_its_keys_are_apart_from_the_store_s() -> None:
    options = app("redis://cache/0", **{"execution.redis.key_prefix": "mine:"}).conf.broker_transport_options
    assert options["global_keyprefix"] == "mine:celery:" == celery_key("mine:", "")
    assert celery_key("mine:", "jobs") == "mine:celery:jobs"
    assert not any(f"mine:{name}".startswith("mine:celery:") for name in PERMANENT_NAMES)


def test_no_message_comes_again_while_a_job_may_still_take_its_time() -> None:
    configured = app("redis://cache/0", **{"execution.longest_job_seconds": "100"}).conf
    assert configured.broker_transport_options["visibility_timeout"] == 160
    assert configured.task_acks_late
    assert configured.task_reject_on_worker_lost
    assert configured.worker_prefetch_multiplier == 1


def test_messages_are_data_only_and_nothing_is_stored_for_them() -> None:
    configured = app("redis://cache/0").conf
    assert configured.accept_content == ["json"]
    assert configured.task_serializer == "json"
    assert configured.task_ignore_result
    assert configured.result_backend is None
    assert {queue.name for queue in configured.task_queues} == {"jobs", "scores"}
