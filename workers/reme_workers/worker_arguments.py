"""What a worker process is told by the process that starts it: a preset, a role, how much at once."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Self, TypeAlias, get_args

import orjson

from reme_compact.contract.errors import ConfigurationError
from reme_compact.presets.load import load_preset
from reme_compact.presets.schema import Preset

Role: TypeAlias = Literal["jobs", "scores"]
Pool: TypeAlias = Literal["threads", "prefork"]

ROLES: tuple[Role, ...] = get_args(Role)
POOLS: tuple[Pool, ...] = get_args(Pool)
DEFAULT_CONCURRENCY: Mapping[Role, int] = {"jobs": 16, "scores": 8}

WRONG_CONFIGURATION = 78
"""Exit code of a worker process that says that starting it again would not help."""

LOOPBACK = "127.0.0.1"
"""Where metrics are told unless somebody wants them elsewhere: they have no key."""

_VARIABLE = "REME_WORKER"


@dataclass(frozen=True, slots=True)
class PresetArguments:
    """Which preset to load, so that another process loads the same one.

    Attributes:
        config: name or path of the preset.
        overrides: dotted path to new value, as text.
    """

    config: str
    overrides: Mapping[str, str] = field(default_factory=dict)

    def load(self) -> Preset:
        """Load the preset.

        Raises:
            ConfigurationError: it does not exist, or is wrong.
        """
        return load_preset(self.config, overrides=self.overrides)


@dataclass(frozen=True, slots=True)
class WorkerArguments:
    """How one worker process works.

    Attributes:
        preset: the preset.
        role: the one queue that it serves.
        concurrency: jobs, or decision requests, at once.
        pool: threads share one event loop; prefork gives each decision request a process, for a local model.
        metrics_port: where a jobs worker tells its metrics; null: nowhere.
        metrics_host: the address that this port is opened on.
    """

    preset: PresetArguments
    role: Role
    concurrency: int
    pool: Pool
    metrics_port: int | None = None
    metrics_host: str = LOOPBACK

    def environment(self) -> dict[str, str]:
        """Return the variables from which `from_environment` reads equal arguments."""
        document = {
            "config": self.preset.config,
            "overrides": dict(self.preset.overrides),
            "role": self.role,
            "concurrency": self.concurrency,
            "pool": self.pool,
            "metrics_port": self.metrics_port,
            "metrics_host": self.metrics_host,
        }
        return {_VARIABLE: orjson.dumps(document).decode()}

    @classmethod
    def from_environment(cls) -> Self:
        """Read the arguments that the starting process left, once: children of this process do not see them."""
        document = orjson.loads(os.environ.pop(_VARIABLE))
        preset = PresetArguments(document["config"], document["overrides"])
        rest = (document[name] for name in ("role", "concurrency", "pool", "metrics_port", "metrics_host"))
        return cls(preset, *rest)


def check_arguments(
    preset: PresetArguments,
    role: str,
    concurrency: int | None,
    pool: str,
    metrics_port: int | None = None,
    metrics_host: str = LOOPBACK,
) -> WorkerArguments:
    """Check what a person asked for.

    Raises:
        ConfigurationError: names what is wrong.
    """
    if role not in ROLES:
        raise ConfigurationError(
            "role must be jobs or scores, one of them: a worker that served both queues could wait for itself."
        )
    if pool not in POOLS:
        raise ConfigurationError("pool must be threads or prefork.")
    if role == "jobs" and pool == "prefork":
        raise ConfigurationError("pool=prefork is for role=scores; jobs share one event loop, in threads.")
    if concurrency is not None and concurrency < 1:
        raise ConfigurationError("concurrency must be at least 1.")
    return WorkerArguments(preset, role, concurrency or DEFAULT_CONCURRENCY[role], pool, metrics_port, metrics_host)
