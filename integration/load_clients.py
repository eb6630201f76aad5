"""Many clients of the job API at once, which come back when they are refused, and what they saw."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import httpx
from histories import history, request_for

REFUSALS = frozenset({429, 503})


def tiny_request(number: int, **options: Any) -> dict[str, Any]:
    """Return a request that needs one decision request; its goal and its call tell it from all others."""
    asked = request_for(history(1, 600), goal=goal_of(number), options=options)
    call, result = asked["messages"][1]["content"]
    call["id"] = result["id"] = call_of(number)
    asked["source_refs"] = {call_of(number): f"archive/{number}"}
    return asked


def goal_of(number: int) -> str:
    """Return the goal of a request."""
    return f"Load number {number}"


def call_of(number: int) -> str:
    """Return the id of the only call of a request."""
    return f"call-{number}"


@dataclass
class Load:
    """What clients were answered.

    Attributes:
        accepted: id of the job by number of the request.
        refusals: status and Retry-After of each refusal.
        documents: finished jobs, by number of the request.
        answers: their proposals.
        result_bytes: size of the results.
    """

    accepted: dict[int, str] = field(default_factory=dict)
    refusals: list[tuple[int, str | None]] = field(default_factory=list)
    documents: dict[int, dict[str, Any]] = field(default_factory=dict)
    answers: dict[int, dict[str, Any]] = field(default_factory=dict)
    result_bytes: int = 0
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def until(self, is_so: "Callable[[Load], bool]") -> None:
        """Wait until something is true of the answers."""
        async with self.changed:
            await self.changed.wait_for(lambda: is_so(self))

    async def note(self) -> None:
        """Wake whoever waits."""
        async with self.changed:
            self.changed.notify_all()


async def client(url: str, numbers: Sequence[int], load: Load) -> None:
    """Submit requests one after another without waiting for any, then read all results."""
    async with httpx.AsyncClient(base_url=url, timeout=60, trust_env=False) as http:
        for number in numbers:
            await _submit_until_accepted(http, number, load)
        for number in numbers:
            await _read_result(http, number, load)


async def listed_ids(url: str, headers: dict[str, str] | None = None) -> list[str]:
    """Return the ids of all jobs, page by page."""
    ids: list[str] = []
    cursor = ""
    async with httpx.AsyncClient(base_url=url, timeout=60, trust_env=False, headers=headers) as http:
        while True:
            page = (await http.get("/jobs", params={"limit": 100, "cursor": cursor})).raise_for_status().json()
            ids += [job["id"] for job in page["jobs"]]
            if page["next_cursor"] is None:
                return ids
            cursor = page["next_cursor"]


def most_active(documents: Iterable[dict[str, Any]]) -> int:
    """Return the most jobs that were unfinished at the same time, by their own times."""
    moments = []
    for document in documents:
        moments += [(datetime.fromisoformat(document["created_at"]), 1)]
        moments += [(datetime.fromisoformat(document["finished_at"]), -1)]
    most = now = 0
    # Of what happened in the same instant, ends come first: an end makes room.
    for _, change in sorted(moments):
        now += change
        most = max(most, now)
    return most


async def _submit_until_accepted(http: httpx.AsyncClient, number: int, load: Load) -> None:
    while True:
        response = await http.post("/jobs/compact_context", json=tiny_request(number))
        if response.status_code not in REFUSALS:
            load.accepted[number] = response.raise_for_status().json()["id"]
            await load.note()
            return
        load.refusals.append((response.status_code, response.headers.get("Retry-After")))
        await load.note()
        await asyncio.sleep(float(response.headers["Retry-After"]))  # what the service asks for


async def _read_result(http: httpx.AsyncClient, number: int, load: Load) -> None:
    job = f"/jobs/{load.accepted[number]}"
    async with http.stream("GET", f"{job}/events") as events:
        async for _ in events.aiter_bytes():
            pass  # it ends with the job
    load.documents[number] = (await http.get(job)).raise_for_status().json()
    result = (await http.get(f"{job}/result")).raise_for_status()
    load.result_bytes += len(result.content)
    load.answers[number] = result.json()["answer"]
    await load.note()
