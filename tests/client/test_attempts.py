from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from reme_compact.client.attempts import Attempts
from reme_compact.client.sent import Reply


class Found(dict[str, str]):
    """Headers by their exact names, which is enough here."""


def reply(status: int, **headers: str) -> Reply:
    named: Any = Found({name.replace("_", "-"): value for name, value in headers.items()})
    return Reply(status, named, b"")


def attempts(*, retries: int = 3, timeout_seconds: float = 30, can_be_repeated: bool = True) -> Attempts:
    return Attempts(
        retries=retries, timeout_seconds=timeout_seconds, can_be_repeated=can_be_repeated, clock=lambda: 100.0
    )


@pytest.mark.parametrize("status", [429, 503])
def test_a_service_says_when_to_come_back(status: int) -> None:
    assert attempts(can_be_repeated=False).pause_after(reply(status, Retry_After=" 7")) == 7


def test_or_until_when() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=25), usegmt=True)
    seconds = attempts().pause_after(reply(503, Retry_After=later))
    assert seconds is not None
    assert 0 < seconds <= 25
    assert attempts().pause_after(reply(503, Retry_After="Sun, 06 Nov 1994 08:49:37 GMT")) == 0


@pytest.mark.parametrize("after", ["30", "9" * 400, "-1", "1.5", "", "soon", "Sun, 99 Nov 1994 08:49:37 GMT"])
def test_what_is_too_late_or_no_time_is_no_invitation(after: str) -> None:
    assert attempts().pause_after(reply(503, Retry_After=after)) is None


@pytest.mark.parametrize("other", [reply(503), reply(409, Retry_After="1"), reply(200, Retry_After="1")])
def test_nothing_else_is_tried_again(other: Reply) -> None:
    assert attempts().pause_after(other) is None


def test_there_are_only_so_many() -> None:
    few = attempts(retries=2)
    assert [few.pause_after(reply(503, Retry_After="0")) for _ in range(3)] == [0, 0, None]
    assert attempts(retries=0).pause_after_loss() is None


def test_a_lost_answer_is_waited_for_longer_each_time() -> None:
    many = attempts()
    assert [many.pause_after_loss() for _ in range(4)] == [0.25, 0.5, 1.0, None]
    assert attempts(can_be_repeated=False).pause_after_loss() is None
