"""Collections are put off while a history is worked on, and a host's own settings stay its own."""

import gc
import threading
from collections.abc import Iterator

import pytest
from compacting import compact
from models import always

from reme_compact.compaction.deferred_collection import deferred_collection


@pytest.fixture(autouse=True)
def thresholds() -> Iterator[tuple[int, int, int]]:
    before, enabled = gc.get_threshold(), gc.isenabled()
    yield before
    gc.set_threshold(*before)
    (gc.enable if enabled else gc.disable)()


def test_few_collections_while_it_lasts_and_the_same_thresholds_after(thresholds: tuple[int, int, int]) -> None:
    with deferred_collection():
        before = gc.get_stats()[0]["collections"]
        kept = [[index] for index in range(50_000)]
        assert gc.get_stats()[0]["collections"] - before <= 1
    assert len(kept) == 50_000
    assert gc.get_threshold() == thresholds


def test_several_at_once_are_put_back_by_the_last(thresholds: tuple[int, int, int]) -> None:
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with deferred_collection():
            inside.set()
            leave.wait(timeout=30)

    thread = threading.Thread(target=other)
    with deferred_collection():
        thread.start()
        assert inside.wait(timeout=30)
    assert gc.get_threshold() != thresholds
    leave.set()
    thread.join(timeout=30)
    assert gc.get_threshold() == thresholds


def test_what_a_host_sets_meanwhile_stays() -> None:
    with deferred_collection():
        gc.set_threshold(123, 4, 5)
    assert gc.get_threshold() == (123, 4, 5)


@pytest.mark.parametrize("own", [(0, 10, 10), (5_000_000, 10, 10)])
def test_a_host_that_collects_less_is_left_alone(own: tuple[int, int, int]) -> None:
    gc.set_threshold(*own)
    with deferred_collection():
        assert gc.get_threshold() == own
    assert gc.get_threshold() == own


@pytest.mark.anyio
async def test_a_compaction_leaves_everything_as_it_was(thresholds: tuple[int, int, int]) -> None:
    gc.disable()
    await compact(always(0.0))
    assert gc.get_threshold() == thresholds
    assert not gc.isenabled()
