"""Build single jobs and components from a preset, for hosts that embed them and for the service."""

from functools import cache, partial
from typing import Any

from reme_compact.archive.archive import Archive
from reme_compact.archive.opening import storage_at
from reme_compact.compaction.counter_choice import CounterChoice, TokenCounterFactory
from reme_compact.compaction.originals_choice import OriginalsChoice
from reme_compact.compaction.step import CompactContextStep
from reme_compact.contract.errors import ConfigurationError
from reme_compact.contract.validation import unknown_name
from reme_compact.decision.backends import build_decision_model
from reme_compact.presets.schema import JobSettings, Preset, TokenCounterSettings, missing_job
from reme_compact.tokens.counters import TokenCounter
from reme_compact.tokens.registry import build_token_counter


def assemble_component(preset: Preset, path: str) -> Any:
    """Build one component, `as_decision_model.NAME` or `token_counter.NAME`.

    A decision model belongs to the caller, who closes it with `aclose()`.

    Raises:
        ConfigurationError: there is no such component, or its settings are refused.

    """
    kind, _, name = path.partition(".")
    components = dict(preset.components)
    if kind not in components:
        raise ConfigurationError(f"components.{kind}: {unknown_name('component kind', kind, list(components))}")
    if name not in components[kind]:
        raise ConfigurationError(f"components.{path}: {unknown_name('component', name, list(components[kind]))}")
    settings = components[kind][name]
    if isinstance(settings, TokenCounterSettings):
        return _build_token_counter(name, settings)
    return build_decision_model(settings)


def assemble_job(preset: Preset, name: str) -> CompactContextStep:
    """Build the step of one job, with its decision model; token counters are built when they are first used.

    The step owns its decision model: closing the step closes it.

    Raises:
        ConfigurationError: there is no such job, or the settings of its decision model are refused.

    """
    job = _job(preset, name)
    return CompactContextStep(
        as_decision_model=assemble_component(preset, f"as_decision_model.{job.as_decision_model}"),
        token_counters=_counter_factories(preset),
        default_token_counter=job.token_counter,
        owns_decision_model=True,
        archive=assemble_archive(preset),
        archive_session=preset.archive.session,
    )


def assemble_archive(preset: Preset) -> Archive | None:
    """Open the archive; nothing is written before something is stored. Null: the preset has none.

    Raises:
        ConfigurationError: there can be no archive at its place.
        MissingExtraError: an optional dependency is missing.

    """
    settings = preset.archive
    if settings.location is None:
        if settings.session is not None:
            raise ConfigurationError("archive.session needs archive.location, where the originals are kept.")
        return None
    return Archive(storage_at(settings.location, settings.options))


def assemble_originals(preset: Preset) -> OriginalsChoice:
    """Say where the originals of requests are kept.

    Raises:
        ConfigurationError: there can be no archive at its place.
        MissingExtraError: an optional dependency is missing.

    """
    return OriginalsChoice(assemble_archive(preset), preset.archive.session)


def assemble_counters(preset: Preset, name: str) -> CounterChoice:
    """Build the choice of token counters of one job; each is built when it is first used.

    Raises:
        ConfigurationError: there is no such job.

    """
    return CounterChoice(None, _counter_factories(preset), _job(preset, name).token_counter)


def _job(preset: Preset, name: str) -> JobSettings:
    if name not in preset.jobs:
        raise ConfigurationError(f"The preset {missing_job(preset, name)}")
    return preset.jobs[name]


def _counter_factories(preset: Preset) -> dict[str, TokenCounterFactory]:
    return {
        name: cache(partial(_build_token_counter, name, settings))
        for name, settings in preset.components.token_counter.items()
    }


def _build_token_counter(name: str, settings: TokenCounterSettings) -> TokenCounter:
    return build_token_counter(settings.backend, settings.overhead_tokens, name=name)
