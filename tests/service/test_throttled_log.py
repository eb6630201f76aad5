"""What happens without end is told now and then, and how often it was."""

import asyncio
import logging

import pytest

from reme_compact.service.accept_faults import quietly_out_of_files
from reme_compact.service.throttled_log import ThrottledLog


def test_one_line_stands_for_many_times(caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    log = ThrottledLog(logging.getLogger("reme_compact.test"), "it happened", now=lambda: now)
    for second in (0, 0.1, 9.9, 10, 10.1, 25):
        now = second
        log.happened(limit=3)
    assert [(record.getMessage(), record.__dict__["times"]) for record in caplog.records] == [
        ("it happened", 1),
        ("it happened", 3),
        ("it happened", 2),
    ]
    assert caplog.records[0].__dict__["limit"] == 3


def test_only_what_repeats_itself_is_kept_from_the_loops_own_handler(caplog: pytest.LogCaptureFixture) -> None:
    loop = asyncio.new_event_loop()
    try:
        for _ in range(1000):
            quietly_out_of_files(loop, {"message": "socket.accept() out of system resource"})
        quietly_out_of_files(loop, {"message": "something else"})
    finally:
        loop.close()
    told = [record.getMessage() for record in caplog.records]
    assert len(told) <= 2
    assert "something else" in told
