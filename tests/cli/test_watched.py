from typing import Any

import pytest

from reme_compact.cli.watched import Watched
from reme_compact.contract.job import EventType, JobEvent

FAILURE = {"code": "rate_limited", "error": "DecisionModelError", "message": "Too many.", "retryable": True}


def event(kind: EventType, **data: Any) -> JobEvent:
    return JobEvent(id="1-0", type=kind, data=data)


def test_a_whole_job_in_lines() -> None:
    watched = Watched()
    events = [
        event("queued"),
        event("started", attempt=1),
        event("planned", candidates=60, asked=40, batches=10),
        event("batch_scored", scored=4, asked=40, batches_scored=1, batches=10, error=None),
        event("batch_scored", scored=5, asked=40, batches_scored=2, batches=10, error=None),
        event("batch_scored", scored=40, asked=40, batches_scored=10, batches=10, error=None),
        event("deciding"),
        event("finished", status="succeeded", error=None),
    ]
    assert [watched.apply(one).text for one in events] == [
        "queued",
        "started",
        "asking about 40 of 60 candidates, in 10 requests",
        "scored 4 of 40",
        "",
        "scored 40 of 40",
        "deciding",
        "succeeded",
    ]
    assert (watched.status, watched.scored, watched.asked) == ("succeeded", 40, 40)


def test_what_is_remarkable_is_also_said_beside_a_bar() -> None:
    watched = Watched()
    failed = watched.apply(event("batch_scored", scored=1, asked=40, error=FAILURE))
    assert failed.is_remarkable
    assert failed.text == "a request failed, its results are kept: rate_limited: Too many. (trying again may help)"
    again = watched.apply(event("started", attempt=2))
    assert again.is_remarkable
    assert again.text == "started again (start 2)"
    end = watched.apply(event("finished", status="failed", error={**FAILURE, "retryable": False, "more": 1}))
    assert end.text == "failed: rate_limited: Too many."


def test_nothing_to_ask_about() -> None:
    assert Watched().apply(event("planned", candidates=3, asked=0, batches=0)).text == (
        "nothing to ask about (3 candidates)"
    )


@pytest.mark.parametrize("odd", [None, -1, True, "7", 1.5, 10**400, [], {"a": 1}, "\x1b[2J"])
@pytest.mark.parametrize("kind", ["started", "planned", "batch_scored", "finished"])
def test_odd_data_is_no_obstacle(kind: EventType, odd: Any) -> None:
    names = ("attempt", "candidates", "asked", "batches", "scored", "batches_scored", "status", "error")
    watched = Watched()
    assert "\x1b" not in watched.apply(event(kind, **dict.fromkeys(names, odd))).text
    assert "\x1b" not in watched.apply(event(kind)).text
    nested = dict.fromkeys(FAILURE, odd)
    assert "\x1b" not in watched.apply(event(kind, error=nested)).text


def test_a_resumed_job_does_not_go_backwards() -> None:
    watched = Watched()
    watched.apply(event("planned", candidates=10, asked=10, batches=5))
    watched.apply(event("batch_scored", scored=6, asked=10))
    watched.apply(event("started", attempt=2))
    watched.apply(event("batch_scored", scored=2, asked=10))
    assert watched.scored == 6
