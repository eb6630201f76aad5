"""What is remembered of the last decision request, and for how long."""

from datetime import UTC, datetime, timedelta

from reme_compact.contract.errors import DecisionModelError
from reme_compact.decision.health import DecisionModelHealth, LastRequest

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(seconds=60)
FAILURE = DecisionModelError("refused", code="authentication_failed", fatal=True).fields()


def test_nothing_is_known_before_the_first_request() -> None:
    assert DecisionModelHealth().last_request is None


def test_only_the_latest_request_is_remembered() -> None:
    health = DecisionModelHealth()
    health.failed(NOON, FAILURE)
    assert health.last_request == LastRequest(worked=False, at=NOON, error=FAILURE)
    health.worked(LATER)
    assert health.last_request == LastRequest(worked=True, at=LATER, error=None)
    health.failed(LATER, FAILURE)
    assert health.last_request == LastRequest(worked=False, at=LATER, error=FAILURE)


def test_an_outcome_expires_once_it_is_old_enough() -> None:
    health = DecisionModelHealth()
    assert not health.expire(LATER, 60)
    health.worked(NOON)
    assert not health.expire(LATER, 61)
    assert health.expire(LATER, 60)
    assert health.last_request is None
    assert not health.expire(LATER, 0)
