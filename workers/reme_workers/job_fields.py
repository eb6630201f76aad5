"""A job's record as Redis keeps it, read into the document that its owner sees."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeAlias, cast

import orjson

from reme_compact.contract.job import JobDocument, JobError, JobEvent, JobProgress, JobStatus

Fields: TypeAlias = Mapping[str, str]
"""A record by name of the field; empty: there is none."""


def fields_of(answer: Any) -> dict[str, str]:
    """Read a hash, which is names and values in a row in scripts, and a mapping in newer versions of the protocol."""
    if isinstance(answer, Mapping):
        pairs: Sequence[tuple[bytes, bytes]] = list(answer.items())
    else:
        flat = cast("list[bytes]", answer)
        pairs = list(zip(flat[::2], flat[1::2], strict=True))
    return {name.decode(): value.decode("utf-8", "surrogateescape") for name, value in pairs}


def document_of(fields: Fields, *, waits_for_worker: bool = False) -> JobDocument:
    """Read a job."""
    return JobDocument(
        id=fields["id"],
        job=fields["job"],
        status=status_of(fields),
        progress=JobProgress(**{name: int(fields.get(name, 0)) for name in JobProgress.model_fields}),
        waiting_for="worker" if waits_for_worker else None,
        created_at=time_of(fields["created_at"]),
        started_at=_optional_time(fields, "started_at"),
        finished_at=_optional_time(fields, "finished_at"),
        expires_at=_optional_time(fields, "expires_at"),
        error=error_of(fields),
    )


def status_of(fields: Fields) -> JobStatus:
    """Read how far a job is."""
    return cast("JobStatus", fields["status"])


def error_of(fields: Fields) -> JobError | None:
    """Read why a job failed, if it did."""
    return JobError(**orjson.loads(fields["error"])) if "error" in fields else None


def time_of(milliseconds: str) -> datetime:
    """Read a time of the server."""
    return datetime.fromtimestamp(int(milliseconds) / 1000, UTC)


def event_of(entry: tuple[bytes, Any]) -> JobEvent:
    """Read one entry of a job's stream."""
    entry_id, data = entry
    fields = fields_of(data)
    return JobEvent(id=entry_id.decode(), type=cast("Any", fields["type"]), data=orjson.loads(fields["data"]))


def _optional_time(fields: Fields, name: str) -> datetime | None:
    return time_of(fields[name]) if name in fields else None
