"""The events of one job, as a service sends them, and as lines."""

import json
from typing import Any

from scripted_service import JOB_ID

JOB = f"GET /jobs/{JOB_ID}"
EVENTS = f"{JOB}/events"


def sse(number: int, kind: str, **data: Any) -> bytes:
    return f"id: {number}-0\nevent: {kind}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


QUEUED = sse(1, "queued")
STARTED = sse(2, "started", attempt=1)
PLANNED = sse(3, "planned", candidates=6, asked=4, batches=2)
HALF = sse(4, "batch_scored", scored=2, asked=4, batches_scored=1, batches=2, error=None)
ALL = sse(5, "batch_scored", scored=4, asked=4, batches_scored=2, batches=2, error=None)
DECIDING = sse(6, "deciding")
DONE = sse(7, "finished", status="succeeded", error=None)
WHOLE = (QUEUED, STARTED, PLANNED, HALF, ALL, DECIDING, DONE)
LINES = [
    "queued",
    "started",
    "asking about 4 of 6 candidates, in 2 requests",
    "scored 2 of 4",
    "scored 4 of 4",
    "deciding",
    "succeeded",
]
