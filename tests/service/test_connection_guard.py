"""Which connections stay, which make room, and which are ended, with time passing as a test says."""

import pytest

from reme_compact.presets.schema import ServiceSettings
from reme_compact.service.connection_guard import ConnectionGuard, within_open_files

SETTINGS = ServiceSettings(request_read_seconds=10, response_write_seconds=20)


class FakeConnection:
    def __init__(self) -> None:
        self.unsent = 0
        self.end = ""

    def unsent_bytes(self) -> int:
        return self.unsent

    def give_up_waiting(self) -> None:
        self.end = "waited"

    def cut(self) -> None:
        self.end = "cut"


def test_a_silent_connection_is_ended_and_one_that_asked_is_not() -> None:
    guard, silent, asking = ConnectionGuard(SETTINGS), FakeConnection(), FakeConnection()
    guard.waits(silent, 0)
    guard.waits(asking, 0)
    guard.asked(asking)
    guard.look([silent, asking], 9.9)
    assert silent.end == ""
    guard.look([silent, asking], 10)
    assert (silent.end, asking.end) == ("waited", "")


def test_the_time_begins_anew_with_every_request() -> None:
    guard, connection = ConnectionGuard(SETTINGS), FakeConnection()
    guard.waits(connection, 0)
    guard.asked(connection)
    guard.waits(connection, 100)
    guard.look([connection], 109)
    assert connection.end == ""
    guard.look([connection], 110)
    assert connection.end == "waited"


def test_beyond_the_limit_the_longest_silent_one_makes_room() -> None:
    guard = ConnectionGuard(SETTINGS, limit=2)
    first, second, third = FakeConnection(), FakeConnection(), FakeConnection()
    for number, connection in enumerate((first, second, third)):
        assert guard.admits(number + 1, 1.5)
        guard.waits(connection, 0)
    assert (first.end, second.end) == ("waited", "")


def test_connections_that_are_new_or_busy_do_not_make_room() -> None:
    guard, new = ConnectionGuard(SETTINGS, limit=1), FakeConnection()
    guard.waits(new, 0)
    assert not guard.admits(2, 0.5)
    guard.asked(new)
    assert not guard.admits(2, 100)
    assert new.end == ""


def test_a_client_that_reads_nothing_is_dropped_and_a_slow_one_is_not() -> None:
    guard, stuck, slow, drained = ConnectionGuard(SETTINGS), FakeConnection(), FakeConnection(), FakeConnection()
    stuck.unsent = slow.unsent = drained.unsent = 1000
    for seconds in range(0, 61, 10):
        guard.look([stuck, slow, drained], seconds)
        slow.unsent -= 1
        guard.progressed(drained)
        if seconds < 20:
            assert stuck.end == ""
    assert (stuck.end, slow.end, drained.end) == ("cut", "", "")


def test_a_stopping_server_waits_for_no_slow_client() -> None:
    guard, stuck = ConnectionGuard(SETTINGS), FakeConnection()
    stuck.unsent = 1
    guard.look([stuck], 0)
    guard.begin_stop()
    guard.look([stuck], 2)
    assert stuck.end == "cut"


@pytest.mark.parametrize(
    ("files", "possible"), [(100_000, 1024), (1152, 1024), (1024, 896), (256, 128), (64, 32), (1, 1)]
)
def test_files_are_left_for_everything_else(files: int, possible: int) -> None:
    assert within_open_files(1024, files) == possible
