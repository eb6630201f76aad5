"""The process that `reme worker` supervises: one Celery worker of one role."""

import logging
import signal
import sys
import time
import warnings
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import redis
from celery import bootsteps, signals
from celery.exceptions import SecurityWarning

from reme_compact.contract.errors import ConfigurationError
from reme_compact.presets.schema import Preset
from reme_compact.service.logs import configure_logging
from reme_workers.celery_app import build_celery_app
from reme_workers.connection import connect_blocking
from reme_workers.heartbeat import Heartbeat, heartbeats_key, new_process_name
from reme_workers.parent_death import end_with_parent
from reme_workers.roles import Work, work_of
from reme_workers.worker_arguments import WRONG_CONFIGURATION, WorkerArguments

if TYPE_CHECKING:
    from celery import Celery

_SHORTEST_PAUSE_SECONDS = 0.05
_LONGEST_PAUSE_SECONDS = 1.0
_PREFORK_START_SECONDS = 60
_SWITCH_INTERVAL_SECONDS = 0.001
"""How soon one thread gives way to another: a message passes through several."""

_log = logging.getLogger("reme_workers")


def main() -> int:
    """Run the worker that the environment describes, until a signal ends it or it cannot go on."""
    end_with_parent()
    # The supervisor blocks the signals that it waits for, and a child inherits that.
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    sys.setswitchinterval(_SWITCH_INTERVAL_SECONDS)
    arguments = WorkerArguments.from_environment()
    try:
        preset = arguments.preset.load()
        configure_logging(preset.service.log_format, preset.service.log_level)
        _log.setLevel(preset.service.log_level.upper())
        return _run(preset, arguments)
    except ConfigurationError as error:
        _log.error("%s", error.message)
    except ModuleNotFoundError as error:
        _log.error("The module %s is missing. Install reme-compact[distributed].", error.name)
    return WRONG_CONFIGURATION


def _run(preset: Preset, arguments: WorkerArguments) -> int:
    settings = preset.execution.redis
    name = new_process_name()
    app = build_celery_app(preset)
    with ExitStack() as stack:
        work = work_of(preset, arguments, name)
        work.register(app)
        _wait_for_server(connect_blocking(settings))
        work.start()
        stack.callback(work.close)
        heartbeat = Heartbeat(
            connect_blocking(settings), heartbeats_key(settings.key_prefix, arguments.role), work.names
        )
        heartbeat.start()
        stack.callback(heartbeat.stop)
        return _run_celery(app, arguments, name, work)


def _run_celery(app: "Celery", arguments: WorkerArguments, name: str, work: Work) -> int:
    def hand_over(**_: Any) -> None:
        work.hand_over()

    class HandOver(bootsteps.Step):
        """Hands over whenever the worker ends, also when it ends because of a fault."""

        def close(self, parent: object) -> None:
            del parent
            work.hand_over()

    # By the signal at once, since the worker's own loop may notice it up to two seconds later.
    signals.worker_shutting_down.connect(hand_over, weak=False)
    # It warns of running as root because of messages that hold code; these hold JSON only.
    warnings.filterwarnings("ignore", category=SecurityWarning)
    signals.setup_logging.connect(_leave_logging_alone, weak=False)
    app.steps["worker"].add(HandOver)
    app.conf.worker_proc_alive_timeout = _PREFORK_START_SECONDS
    worker = app.Worker(
        hostname=f"{arguments.role}@{name}",
        pool=arguments.pool,
        concurrency=arguments.concurrency,
        queues=[arguments.role],
        optimization="fair",
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
        quiet=True,
    )
    _log.info("worker starts", extra={"role": arguments.role, "concurrency": arguments.concurrency, "worker": name})
    worker.start()
    return int(worker.exitcode or 0)


def _leave_logging_alone(**_: Any) -> None:
    """Keep Celery from setting up logging: this is set up."""


def _wait_for_server(client: "redis.Redis") -> None:
    """Return when the server answers; Celery itself would ask less and less often."""
    pause = _SHORTEST_PAUSE_SECONDS
    while True:
        try:
            client.ping()
        except redis.RedisError as error:
            if pause == _SHORTEST_PAUSE_SECONDS:
                _log.warning("the worker waits: Redis cannot be reached (%s)", type(error).__name__)
        else:
            client.close()
            return
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
