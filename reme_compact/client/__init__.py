"""Call a running service from Python, synchronously or not.

The public names; everything else may change without notice. They are imported when they are first used: the command
line uses the layers below them, and is mostly start-up.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reme_compact.client.async_client import AsyncClient
    from reme_compact.client.client import Client
    from reme_compact.client.errors import InvalidAddressError, ServiceError, ServiceUnreachableError
    from reme_compact.client.status import Health, Readiness

__all__ = [
    "AsyncClient",
    "Client",
    "Health",
    "InvalidAddressError",
    "Readiness",
    "ServiceError",
    "ServiceUnreachableError",
]

_HOMES = {
    "async_client": ("AsyncClient",),
    "client": ("Client",),
    "errors": ("InvalidAddressError", "ServiceError", "ServiceUnreachableError"),
    "status": ("Health", "Readiness"),
}


def __getattr__(name: str) -> object:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"reme_compact.client.{module}"), name)
    raise AttributeError(f"module 'reme_compact.client' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
