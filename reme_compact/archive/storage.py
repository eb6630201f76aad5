"""What a place must offer so that an archive can live there."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from reme_compact.contract.errors import ArchiveError


@dataclass(frozen=True, slots=True)
class NewObject:
    """Bytes that shall be found under a name: words of lower-case letters, digits and dots, joined by slashes."""

    name: str
    data: bytes


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """Size in bytes, and when it was written or touched, in seconds since 1970."""

    size: int
    modified: float


class Storage(Protocol):
    """A place for objects that are written once and never changed in part.

    All methods block, may be called from many threads, and raise ArchiveUnavailableError when the place does not
    work. What is found in place of an object, but is none (a symbolic link, a device), is an ArchiveDamagedError.

    Attributes:
        excludes_others: whether `adding` and `removing` hold across all processes that use the place.

    """

    excludes_others: bool

    def write(self, groups: Sequence[Sequence[NewObject]]) -> list[ArchiveError | bool]:
        """Write groups of objects, and return for each what kept it from being written, or else whether it is new.

        It is new if there was no object of its last name; where `excludes_others`, of several who write the same at
        once only one is told so.

        An object appears whole or not at all, and replaces one of the same name. It appears only when those before
        it in its group will outlast a crash; after one that failed, no later one of its group is written. What was
        written when this returns outlasts a crash. Objects of equal name must be equal, and are written once.
        """
        ...

    def read(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        """Return the bytes from `start` up to `end`; fewer if there are fewer.

        Raises:
            FileNotFoundError: there is no such object.

        """
        ...

    def info(self, name: str) -> ObjectInfo | None:
        """Describe an object; null if there is none."""
        ...

    def touch(self, name: str) -> None:
        """Note that an object is in use now, if there is one; its bytes stay what they are."""
        ...

    def list(self, prefix: str) -> Iterator[str]:
        """Yield the names that begin with a prefix of at least one whole word and its slash."""
        ...

    def delete(self, names: Sequence[str]) -> None:
        """Remove objects, within `removing()`; one that is not there is no error."""
        ...

    def adding(self) -> AbstractContextManager[None]:
        """Hold off removals: what is found or written within is not removed before the end."""
        ...

    def removing(self) -> AbstractContextManager[None]:
        """Wait until nobody adds, and hold off additions."""
        ...
