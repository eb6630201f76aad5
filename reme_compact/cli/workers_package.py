"""The package of the distributed deployment, which is optional and lies above the command line."""

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from reme_compact.contract.errors import MissingExtraError

_NEEDED = ("celery", "redis", "zstandard", "prometheus_client", "structlog")


def workers_module(name: str, feature: str) -> ModuleType:
    """Import a module of `reme_workers`.

    Args:
        name: the module, without the package.
        feature: what needs it, for the error.

    Raises:
        MissingExtraError: Celery, the client of Redis or something else that it needs is not installed.

    """
    if any(find_spec(package) is None for package in _NEEDED):
        raise MissingExtraError(feature, "distributed")
    return import_module(f"reme_workers.{name}")
