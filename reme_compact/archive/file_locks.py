"""Locks that all processes on a machine respect: many may add at once, one alone may remove."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from reme_compact.archive.folders import open_lock

_LOCK = "lock"
_TURN = "turn"


def shared(root: int) -> AbstractContextManager[None]:
    """Wait for whoever removes, then keep others from removing."""
    return _locked(root, fcntl.LOCK_SH)


def exclusive(root: int) -> AbstractContextManager[None]:
    """Wait for everybody, then keep everybody else out."""
    return _locked(root, fcntl.LOCK_EX)


@contextmanager
def _locked(root: int, kind: int) -> Iterator[None]:
    lock = open_lock(root, _LOCK)
    try:
        # Whoever waits for the lock keeps the turn, so that adding threads without end cannot starve a removal.
        turn = open_lock(root, _TURN)
        try:
            fcntl.flock(turn, kind)
            fcntl.flock(lock, kind)
        finally:
            os.close(turn)
        yield
    finally:
        os.close(lock)
