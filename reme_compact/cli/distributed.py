"""What a distributed deployment needs besides the service: a Redis server, and workers."""

import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from reme_compact.cli.printable import shorten
from reme_compact.cli.redis_url import EXAMPLE_URL, flaw_of_redis_url
from reme_compact.cli.usage import UsageError
from reme_compact.cli.workers_package import workers_module
from reme_compact.contract.errors import ConfigurationError
from reme_compact.presets.schema import Preset

DISTRIBUTED_PRESET = "distributed"
_URL_PATH = "execution.redis.url"
_ARCHIVE_PATH = "archive.location"
DEFAULT_ARCHIVE = "~/.local/share/reme-compact/archive"


def is_distributed(preset: Preset) -> bool:
    """Tell whether jobs are run by workers."""
    return preset.execution.runner == "celery"


def check_has_url(preset: Preset, command: str) -> None:
    """Refuse a distributed preset that does not say where its Redis is, naming both ways to go on.

    Raises:
        UsageError: it does not.
        ConfigurationError: what it says cannot be an address.

    """
    url = preset.execution.redis.url
    if url is not None and (flaw := flaw_of_redis_url(url.get_secret_value())):
        raise ConfigurationError(f"{_URL_PATH}: {flaw}.")
    if url is None:
        raise UsageError(
            "redis_url: a distributed deployment needs a Redis server, and none is named. Name one:\n"
            f"  {command} redis_url={EXAMPLE_URL}\n"
            "or have a server and both workers brought up on this machine, for a try-out:\n"
            f"  reme start config={DISTRIBUTED_PRESET} workers=local"
        )


def with_redis_url(overrides: dict[str, str], redis_url: str | None) -> dict[str, str]:
    """Return the overrides with what `redis_url=` is short for.

    Raises:
        UsageError: both are given, or one cannot be an address.

    """
    if redis_url is not None and _URL_PATH in overrides:
        raise UsageError(f"redis_url: is short for {_URL_PATH}, which is given, too.")
    url = overrides.get(_URL_PATH) if redis_url is None else redis_url.strip()
    if url is None:
        return overrides
    key = _URL_PATH if redis_url is None else "redis_url"
    if not url:
        raise UsageError(f"{key}: is empty; write it as in {key}={EXAMPLE_URL}.")
    if flaw := flaw_of_redis_url(url):
        raise UsageError(f"{key}: {flaw}.")
    return {**overrides, _URL_PATH: url}


def check_workers(preset: Preset, config: str, own: Mapping[str, str]) -> None:
    """Check what `reme start` was told about workers and their server.

    Args:
        preset: what is started.
        config: its name as given.
        own: `redis_url` and `workers`, where they are given.

    Raises:
        UsageError: a value is wrong, or does not fit the preset.

    """
    if own.get("workers", "local") != "local":
        raise UsageError("workers: must be local; workers elsewhere are started there, with `reme worker`.")
    if not is_distributed(preset):
        for key in ("workers", "redis_url"):
            if key in own:
                raise UsageError(
                    f"{key}: is for a preset that has its jobs run by workers (execution.runner: celery), and "
                    f"'{shorten(config, 80)}' has not; did you mean config={DISTRIBUTED_PRESET}?"
                )
    elif "workers" not in own:
        check_has_url(preset, f"reme start config={shlex.quote(config)}")
    elif "redis_url" in own:
        raise UsageError("workers: brings up a server of its own, so redis_url= must be left out.")


@contextmanager
def workers_of(
    config: str, overrides: Mapping[str, str], own: Mapping[str, str], *, has_archive: bool
) -> Iterator[dict[str, str]]:
    """Run local workers and their server, if that was asked for, and give the overrides that lead to them.

    Args:
        config: the preset's name.
        overrides: of its settings.
        own: `redis_url` and `workers`, where they are given.
        has_archive: whether the preset names a place for an archive.

    Raises:
        MissingExtraError: a package or a server program is missing.
        StoreUnavailableError: the server cannot be started.

    """
    if "workers" not in own:
        yield {}
        return
    # All are on one machine, so they can share its directory unless another place is named.
    here = {} if has_archive else {_ARCHIVE_PATH: DEFAULT_ARCHIVE}
    feature = "workers=local"
    overrides = {**here, **overrides}
    arguments = workers_module("worker_arguments", feature).PresetArguments(config, overrides)
    with workers_module("local_deployment", feature).local_deployment(arguments) as url:
        yield {**here, _URL_PATH: url}
