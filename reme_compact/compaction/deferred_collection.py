"""Put off the collection of cyclic garbage while a history is worked on.

A large history means hundreds of thousands of objects that all live until the work is done and then go by their
reference counts. Looking through them for cycles again and again finds nothing, and every full look holds the
interpreter, and with it the host's event loop, for as long as it takes.
"""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_ALLOCATIONS = 1_000_000
"""So many more allocations than releases still set off a collection: other threads may make cycles meanwhile."""

_lock = threading.Lock()
_depth = 0
_before = (0, 0, 0)


@contextmanager
def deferred_collection() -> Iterator[None]:
    """Raise the threshold of automatic collections, for the whole process, until the last of these blocks is left.

    Whether collection is enabled stays the host's business, and so does a threshold that it sets meanwhile.
    """
    global _depth, _before  # noqa: PLW0603 - the thresholds are the process's own
    with _lock:
        if _depth == 0:
            _before = gc.get_threshold()
            if 0 < _before[0] < _ALLOCATIONS:
                gc.set_threshold(_ALLOCATIONS, *_before[1:])
        _depth += 1
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0 and gc.get_threshold()[0] == _ALLOCATIONS:
                gc.set_threshold(*_before)
