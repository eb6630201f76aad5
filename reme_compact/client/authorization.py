"""The API key of a call: given, or from the environment, since arguments show in lists of processes."""

import os
import re
from collections.abc import Mapping

from reme_compact.contract.errors import ConfigurationError

API_KEY_VARIABLE = "REME_API_KEY"
_KEY = re.compile("[\x21-\x7e]+")


def authorization(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the header that carries the key of the environment; no header without a key.

    Args:
        environment: null means that of the process.

    Raises:
        ConfigurationError: what is there cannot be a key; its value is not told.

    """
    return bearer((os.environ if environment is None else environment).get(API_KEY_VARIABLE, ""), API_KEY_VARIABLE)


def bearer(key: str, name: str) -> dict[str, str]:
    """Return the header that carries a key; no header for a blank one.

    Args:
        key: the key.
        name: what it was given as.

    Raises:
        ConfigurationError: it cannot be a key; its value is not told.

    """
    key = key.strip()
    if not key:
        return {}
    if not _KEY.fullmatch(key):
        raise ConfigurationError(f"{name}: holds spaces or characters that no API key has.")
    return {"Authorization": f"Bearer {key}"}
