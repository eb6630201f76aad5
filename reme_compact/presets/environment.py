"""The environment that presets are filled in from: `.env` in the working directory, under the real one."""

import os
from pathlib import Path

from dotenv import dotenv_values

from reme_compact.contract.errors import ConfigurationError


def read_environment() -> dict[str, str]:
    """Return the variables of `.env`, overlaid by the real environment; changes neither.

    A value in `.env` is taken as it stands: `$` in it refers to nothing.

    Raises:
        ConfigurationError: the file exists but cannot be read.

    """
    return {**_read_dotenv(), **os.environ}


def _read_dotenv() -> dict[str, str]:
    try:
        path = Path.cwd() / ".env"
        if not path.is_file():
            return {}
    except OSError:  # the working directory was deleted, or must not be looked into
        return {}
    try:
        values = dotenv_values(path, interpolate=False)
    except UnicodeDecodeError:
        raise ConfigurationError(f"{path}: is not UTF-8 text.") from None
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read ({error.strerror}).") from None
    return {name: value for name, value in values.items() if value is not None}
