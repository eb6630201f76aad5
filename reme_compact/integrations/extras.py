"""What an integration says where its framework is not installed."""

from collections.abc import Iterator
from contextlib import contextmanager

from reme_compact.contract.errors import MissingExtraError


@contextmanager
def needing(framework: str, extra: str) -> Iterator[None]:
    """Import a framework inside of this.

    Raises:
        MissingExtraError: a module is missing; names the extra that brings it.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"The {framework} integration", extra) from error
