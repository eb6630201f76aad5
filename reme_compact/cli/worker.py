"""`reme worker`: one worker of a distributed deployment."""

from collections.abc import Mapping, Sequence

from reme_compact.cli.address import checked_host_of
from reme_compact.cli.call_numbers import whole
from reme_compact.cli.call_values import call_values
from reme_compact.cli.distributed import DISTRIBUTED_PRESET, check_has_url, is_distributed, with_redis_url
from reme_compact.cli.exit_codes import ExitCode
from reme_compact.cli.grammar import read_words
from reme_compact.cli.output import complain
from reme_compact.cli.preset import preset_named
from reme_compact.cli.printable import shorten
from reme_compact.cli.usage import UsageError, sentence
from reme_compact.cli.workers_package import workers_module
from reme_compact.contract.errors import ConfigurationError
from reme_compact.contract.validation import unknown_key
from reme_compact.presets.schema import Preset

ROLES: Mapping[str, str] = {
    "jobs": "reads histories, asks for scores, makes proposals",
    "scores": "asks the decision model",
}
POOLS = ("threads", "prefork")
WORKER_KEYS: Mapping[str, str] = {
    "role": "; ".join(f"{role}: {meaning}" for role, meaning in ROLES.items()) + " (required)",
    "concurrency": "how many jobs, or decision requests, at once; default: 16 jobs, 8 requests",
    "pool": "threads, or with role=scores prefork, a process each, for a model that computes here; default: threads",
    "metrics_port": "with role=jobs: where Prometheus can fetch the worker's metrics; default: nowhere",
    "metrics_host": "with metrics_port: the address to serve them on, without a key; default: 127.0.0.1",
    "config": f"name of a preset, or path of a preset file; default: {DISTRIBUTED_PRESET}",
    "redis_url": "short for execution.redis.url; with a password better in the environment (REDIS_URL) or as "
    "@FILE, since lists of processes show arguments",
}
_MOST_AT_ONCE = 10_000


def run(words: Sequence[str]) -> ExitCode:
    """Read the arguments and keep a worker running until it is stopped."""
    own, overrides = _split(words)
    role, pool = _role(own.get("role")), own.get("pool", POOLS[0])
    _check_pool(pool, role)
    concurrency, metrics_port = (
        whole(name, own[name], 1, most) if name in own else None
        for name, most in (("concurrency", _MOST_AT_ONCE), ("metrics_port", 65_535))
    )
    if metrics_port is not None and role != "jobs":
        raise UsageError("metrics_port: is for role=jobs.")
    metrics_host = _metrics_host(own)
    config = own.get("config", DISTRIBUTED_PRESET)
    overrides = with_redis_url(overrides, own.get("redis_url"))
    _check_preset(preset_named(config, overrides), config, role)
    arguments = workers_module("worker_arguments", "A worker").PresetArguments(config, overrides)
    supervise = workers_module("supervision", "A worker").supervise
    return ExitCode(supervise(arguments, role, concurrency, pool, metrics_port=metrics_port, metrics_host=metrics_host))


def _split(words: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return what is given for the worker itself, and the overrides of the preset."""
    for word in words:
        if word in ROLES:
            raise UsageError(f"'{word}': a key is missing; did you mean role={word}?")
    assignments = read_words(words, {*WORKER_KEYS, *Preset.model_fields})
    own = {key: value for key, value in assignments.items() if key in WORKER_KEYS}
    overrides = {key: value for key, value in assignments.items() if key.partition(".")[0] in Preset.model_fields}
    for key in assignments:
        if key not in own and key not in overrides:
            known = [*WORKER_KEYS, *Preset.model_fields]
            raise UsageError(sentence(f"{shorten(key, 80)}: {unknown_key(key.partition('.')[0], known)}"))
    return call_values(own), overrides


def _metrics_host(own: Mapping[str, str]) -> str:
    if "metrics_host" in own and "metrics_port" not in own:
        raise UsageError("metrics_host: is for metrics that are served; add metrics_port=NUMBER.")
    return checked_host_of("metrics_host", own.get("metrics_host", "127.0.0.1"))


def _role(given: str | None) -> str:
    if given is None:
        raise UsageError(f"role: is required, one of {', '.join(ROLES)}.")
    if set(given.replace(" ", "").split(",")) == set(ROLES):
        raise UsageError(
            "role: one role for a worker. If one process did both, jobs that wait for scores could take all its "
            "places, and nobody would be left to score: a deadlock. Start two:\n"
            + "\n".join(f"  reme worker role={role}" for role in ROLES)
        )
    if given not in ROLES:
        raise UsageError(f"role: must be one of {', '.join(ROLES)}.")
    return given


def _check_pool(pool: str, role: str) -> None:
    if pool not in POOLS:
        raise UsageError(f"pool: must be one of {', '.join(POOLS)}.")
    if pool == "prefork" and role == "jobs":
        raise UsageError("pool: prefork is for role=scores; jobs wait most of the time, and share one event loop.")


def _check_preset(preset: Preset, config: str, role: str) -> None:
    if not is_distributed(preset):
        raise ConfigurationError(
            f"The preset '{shorten(config, 80)}' runs jobs in the service itself (execution.runner: local), without "
            f"workers; config={DISTRIBUTED_PRESET} is one that has them."
        )
    check_has_url(preset, f"reme worker role={role}")
    if role == "scores" and preset.execution.scoring == "inline":
        complain("warning: with execution.scoring: inline the jobs workers score themselves, and this one idles.")
