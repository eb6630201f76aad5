"""What web pages may do: nothing, unless their origin is configured."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from reme_compact.contract.errors import ConfigurationError
from reme_compact.service.cors import page_middleware

pytestmark = pytest.mark.anyio

PAGE = "https://app.example.org"


async def created(_: Request) -> Response:
    return Response(status_code=202, headers={"Location": "/jobs/1"})


@asynccontextmanager
async def client_for(*origins: str) -> AsyncIterator[httpx.AsyncClient]:
    routes = [Route("/jobs", created, methods=["GET", "POST", "DELETE"])]
    app = Starlette(routes=routes, middleware=page_middleware(origins))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1:2333") as client:
        yield client


def preflight(method: str, *headers: str) -> dict[str, str]:
    return {
        "Origin": PAGE,
        "Access-Control-Request-Method": method,
        "Access-Control-Request-Headers": ", ".join(headers),
    }


@pytest.mark.parametrize("method", ["POST", "DELETE"])
@pytest.mark.parametrize(
    "origin",
    [PAGE, "null", "http://localhost:3000", "http://127.0.0.1", "http://127.0.0.1:2333.example.org", "file://", ""],
)
async def test_a_page_from_elsewhere_changes_nothing(method: str, origin: str) -> None:
    async with client_for() as client:
        answer = await client.request(method, "/jobs", headers={"Origin": origin, "Content-Type": "text/plain"})
    assert answer.status_code == 403
    assert answer.json()["code"] == "origin_not_allowed"
    assert "access-control-allow-origin" not in answer.headers


async def test_by_default_no_page_is_given_leave_to_anything() -> None:
    async with client_for() as client:
        asked = await client.options("/jobs", headers=preflight("POST", "content-type"))
        read = await client.get("/jobs", headers={"Origin": PAGE})
    assert asked.status_code >= 400
    for answer in (asked, read):
        assert not [name for name in answer.headers if name.startswith("access-control-")]


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
async def test_programs_and_pages_of_the_service_s_own_origin_are_not_hindered(method: str) -> None:
    async with client_for() as client:
        assert (await client.request(method, "/jobs")).status_code == 202
        own = {"Origin": "http://127.0.0.1:2333"}
        assert (await client.request(method, "/jobs", headers=own)).status_code == 202


async def test_two_origins_are_none() -> None:
    async with client_for(PAGE) as client:
        answer = await client.post("/jobs", headers=[("Origin", PAGE), ("Origin", PAGE)])
    assert answer.status_code == 403


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
async def test_a_configured_page_may_send_and_read_what_the_api_uses(method: str) -> None:
    used = ("authorization", "content-type", "idempotency-key", "prefer", "last-event-id")
    async with client_for(PAGE) as client:
        asked = await client.options("/jobs", headers=preflight(method, *used))
        answer = await client.request(method, "/jobs", headers={"Origin": PAGE})
    assert asked.status_code == 200
    assert asked.headers["access-control-allow-origin"] == PAGE
    assert method in asked.headers["access-control-allow-methods"]
    allowed = asked.headers["access-control-allow-headers"].lower()
    assert all(name in allowed for name in used)
    assert answer.status_code == 202
    assert answer.headers["access-control-allow-origin"] == PAGE
    exposed = answer.headers["access-control-expose-headers"].lower().split(", ")
    assert {"location", "retry-after", "preference-applied", "idempotency-replayed"} <= set(exposed)
    assert "access-control-allow-credentials" not in answer.headers


async def test_a_page_that_is_not_the_configured_one_gets_no_leave() -> None:
    async with client_for("https://other.example.org") as client:
        asked = await client.options("/jobs", headers=preflight("POST", "content-type"))
        answer = await client.post("/jobs", headers={"Origin": PAGE})
    assert "access-control-allow-origin" not in asked.headers
    assert answer.status_code == 403


async def test_every_page_can_be_allowed() -> None:
    async with client_for("*") as client:
        answer = await client.post("/jobs", headers={"Origin": PAGE})
    assert answer.status_code == 202
    assert answer.headers["access-control-allow-origin"] == "*"


@pytest.mark.parametrize(
    "origin", ["app.example.org", f"{PAGE}/", f"{PAGE}/path", "https://App.example.org", "", "null"]
)
def test_an_entry_that_is_no_origin_is_refused(origin: str) -> None:
    with pytest.raises(ConfigurationError, match=r"service\.cors_origins: .* is no origin"):
        page_middleware([origin])


@pytest.mark.parametrize("origin", ["http://localhost:3000", "http://[::1]:3000", "chrome-extension://abcdef"])
def test_an_entry_that_a_browser_would_send_is_taken(origin: str) -> None:
    assert len(page_middleware([origin])) == 2
