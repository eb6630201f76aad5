"""The Celery application: how messages travel, and nothing about what they mean."""

from typing import Any
from urllib.parse import urlsplit

from celery import Celery
from kombu import Queue

from reme_compact.presets.schema import Preset
from reme_workers.connection import url_of

JOBS_QUEUE = "jobs"
SCORES_QUEUE = "scores"
RUN_JOB = "reme.run_job"
SCORE_BATCHES = "reme.score_batches"

_SLACK_SECONDS = 60


def build_celery_app(preset: Preset) -> Celery:
    """Build the application that a preset describes; publishers and workers use the same one.

    Raises:
        ConfigurationError: the preset names no Redis server.
    """
    app = Celery("reme_workers", broker=_broker_url(url_of(preset.execution.redis)), set_as_current=False)
    app.conf.update(
        task_queues=[Queue(JOBS_QUEUE), Queue(SCORES_QUEUE)],
        task_routes={RUN_JOB: {"queue": JOBS_QUEUE}, SCORE_BATCHES: {"queue": SCORES_QUEUE}},
        task_default_queue=JOBS_QUEUE,
        task_create_missing_queues=False,
        task_serializer="json",
        accept_content=["json"],
        task_ignore_result=True,
        result_backend=None,
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        worker_prefetch_multiplier=1,
        worker_send_task_events=False,
        worker_enable_remote_control=False,
        task_send_sent_event=False,
        worker_hijack_root_logger=False,
        worker_cancel_long_running_tasks_on_connection_loss=False,
        enable_utc=True,
        timezone="UTC",
        broker_connection_retry_on_startup=True,
        broker_connection_retry=True,
        broker_connection_max_retries=None,
        broker_transport_options=_transport_options(preset),
        task_publish_retry=False,
    )
    return app


def celery_key(prefix: str, name: str) -> str:
    """Return the key under which Celery keeps something, such as the list of a queue's messages.

    Args:
        prefix: of the deployment; Celery's keys have one of their own below it, apart from the store's.
        name: Celery's name for it.
    """
    return f"{prefix}celery:{name}"


def _transport_options(preset: Preset) -> dict[str, Any]:
    return {
        "global_keyprefix": celery_key(preset.execution.redis.key_prefix, ""),
        # Celery redelivers what was not acknowledged after this long, so no job may take longer.
        "visibility_timeout": preset.execution.longest_job_seconds + _SLACK_SECONDS,
        "priority_steps": [0],
        "socket_connect_timeout": 2,
        "socket_keepalive": True,
        "health_check_interval": 10,
    }


def _broker_url(url: str) -> str:
    """Return a redis-py address as kombu writes it: a unix socket is another scheme there, its database a parameter."""
    parts = urlsplit(url)
    if parts.scheme != "unix":
        return url
    options = dict(pair.partition("=")[::2] for pair in parts.query.split("&") if pair)
    credentials = f"{parts.netloc.rpartition('@')[0]}@" if "@" in parts.netloc else ""
    return f"redis+socket://{credentials}{parts.path}?virtual_host={options.get('db', '0')}"
