"""`reme start`: the service, or one job without a service."""

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from reme_compact.cli.call_values import call_values
from reme_compact.cli.distributed import check_workers, with_redis_url, workers_of
from reme_compact.cli.exit_codes import ExitCode
from reme_compact.cli.grammar import read_words
from reme_compact.cli.output import choose_output, show
from reme_compact.cli.preset import DEFAULT_PRESET, preset_named
from reme_compact.cli.printable import shorten
from reme_compact.cli.request_keys import JOB, request_keys
from reme_compact.cli.request_values import WHOLE_REQUEST, Request, build_request
from reme_compact.cli.usage import UsageError, sentence
from reme_compact.contract.errors import ConfigurationError, MissingExtraError
from reme_compact.contract.request import CompactionRequest
from reme_compact.contract.validation import unknown_key
from reme_compact.presets.schema import Preset, missing_job

if TYPE_CHECKING:
    from reme_compact.contract.result import Response

START_KEYS: Mapping[str, str] = {
    "config": f"name of a preset, or path of a preset file; default: {DEFAULT_PRESET}",
    "job": "run this job once, without a service, with the request keys that follow",
    "output": "with job=: json, report or messages; default: report on a terminal, else json",
    "redis_url": "with workers (config=distributed): short for execution.redis.url, where jobs are recorded; a URL "
    "with a password is better given in the environment (REDIS_URL) or as @FILE, since lists of processes show "
    "arguments",
    "workers": "local: bring up a Redis-compatible server and both workers on this machine, too, and take them down "
    "with the service; for a try-out of config=distributed",
}
_OF_THE_SERVICE = ("redis_url", "workers")
_ALSO_IN_A_REQUEST = ("archive.session",)
"""Settings of a preset that are also keys of a request, where they say the same of this one request."""

_LIKELY_MEANT = {"host": "service.host", "port": "service.port", "timeout": "options.total_timeout_seconds"}


def run(words: Sequence[str]) -> ExitCode:
    """Read the arguments, then run the service until it is stopped, or one job."""
    known = {*START_KEYS, *Preset.model_fields, *request_keys(), WHOLE_REQUEST.name}
    assignments = read_words(words, known)
    own = call_values({key: value for key, value in assignments.items() if key in START_KEYS})
    of_request = _ALSO_IN_A_REQUEST if "job" in own else ()
    overrides = {
        key: value
        for key, value in assignments.items()
        if key.partition(".")[0] in Preset.model_fields and key not in of_request
    }
    request = {key: value for key, value in assignments.items() if key not in own and key not in overrides}
    for key in request:
        if key in _LIKELY_MEANT:
            raise UsageError(f"{key}: unknown key; did you mean '{_LIKELY_MEANT[key]}'?")
    config = own.get("config", DEFAULT_PRESET)
    if "job" in own:
        for key in _OF_THE_SERVICE:
            if key in own:
                raise UsageError(f"{key}: is for the service; a job without one runs in this process.")
        return _run_job(config, overrides, own["job"], request, own.get("output"))
    _refuse_request_keys([*request, *(key for key in own if key == "output")])
    return _run_service(config, with_redis_url(overrides, own.get("redis_url")), own)


def _refuse_request_keys(keys: Sequence[str]) -> None:
    for key in keys:
        head, shown = key.partition(".")[0], shorten(key, 80)
        if head in request_keys() or head in (WHOLE_REQUEST.name, "output"):
            raise UsageError(f"{shown}: is for a job; add job=compact_context, or call a running service instead.")
        raise UsageError(sentence(f"{shown}: {unknown_key(head, [*START_KEYS, *Preset.model_fields])}"))


def _run_service(config: str, overrides: Mapping[str, str], own: Mapping[str, str]) -> ExitCode:
    preset = preset_named(config, overrides)
    check_workers(preset, config, own)
    if JOB not in preset.jobs:
        raise ConfigurationError(
            f"The preset '{config}' {missing_job(preset, JOB)} The service needs exactly that job."
        )
    try:
        from reme_compact.service.server import serve  # noqa: PLC0415 - optional, and slow
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "reme_compact":
            raise
        raise MissingExtraError("The service", "service") from None
    with workers_of(config, overrides, own, has_archive=preset.archive.location is not None) as further:
        serve(preset_named(config, {**overrides, **further}) if further else preset)
    return ExitCode.PROPOSAL


def _run_job(
    config: str, overrides: Mapping[str, str], job: str, assignments: Mapping[str, str], output_name: str | None
) -> ExitCode:
    output = choose_output(output_name)
    request = build_request(assignments, other_keys=(*START_KEYS, *Preset.model_fields))
    preset = preset_named(config, overrides)
    if job not in preset.jobs:
        raise UsageError(f"job: the preset '{config}' {missing_job(preset, job)}")
    response = _complete(preset, job, request)
    show(response.model_dump(mode="python"), output, request)
    return ExitCode.PROPOSAL if response.success else ExitCode.FAILURE


def _complete(preset: Preset, job: str, request: Request) -> "Response":
    import anyio  # noqa: PLC0415 - slow, and not needed by the service's own loop

    from reme_compact.presets.assemble import assemble_job  # noqa: PLC0415 - slow

    validated = CompactionRequest.parse(request)
    # What the log would say about failures stands in the response, and is shown from there.
    logging.getLogger("reme_compact").addHandler(logging.NullHandler())

    async def run_once() -> "Response":
        step = assemble_job(preset, job)
        try:
            return await step.run(validated)
        finally:
            await step.aclose()

    return anyio.run(run_once)
