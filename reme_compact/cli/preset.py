"""The preset that a command line names, with what is wrong in the command line told apart from what is not."""

from collections.abc import Mapping

from reme_compact.cli.usage import UsageError, sentence
from reme_compact.contract.errors import ConfigurationError
from reme_compact.presets.load import load_preset
from reme_compact.presets.locate import locate_preset
from reme_compact.presets.override import LABEL, OverrideError
from reme_compact.presets.schema import Preset

DEFAULT_PRESET = "decision_compaction"


def preset_named(config: str, overrides: Mapping[str, str] | None = None) -> Preset:
    """Load the preset of `config=`, with the overrides that stand beside it.

    Raises:
        UsageError: there is no such preset, or an override is wrong.
        ConfigurationError: the preset's file or the environment is wrong.

    """
    try:
        locate_preset(config)
    except ConfigurationError as error:
        if config.startswith("@"):
            raise UsageError(f"config: takes the path itself; did you mean config={config[1:]}?") from None
        raise UsageError(f"config: {error.message}") from None
    try:
        return load_preset(config, overrides=overrides)
    except OverrideError as error:
        # On the command line an override is just a key.
        lines = (sentence(line.removeprefix(f"{LABEL}: ")) for line in error.message.splitlines())
        raise UsageError("\n".join(lines)) from None
