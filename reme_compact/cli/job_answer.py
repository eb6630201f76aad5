"""When a service answered, so that ages are told by its clock."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from reme_compact.client.answers import Answer


def time_of(answer: Answer) -> datetime:
    """Return the service's time when it answered, so that ages are right although clocks differ."""
    try:
        return in_utc(parsedate_to_datetime(answer.headers.get("Date") or ""))
    except (TypeError, ValueError):
        return datetime.now(UTC)


def in_utc(moment: datetime) -> datetime:
    """Return a moment in UTC; one without a zone is taken to be there already."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
