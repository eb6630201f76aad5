"""Who is let in, what a key is worth, and what nobody learns of it."""

import hashlib
import hmac
import logging
from typing import Any

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from reme_compact.contract.errors import ConfigurationError
from reme_compact.presets.schema import ApiKeySettings
from reme_compact.service.authentication import KEY_IN_SCOPE, NOBODY, ApiKey, Authentication, KnownKeys

pytestmark = pytest.mark.anyio

ALICE, BOB, ADMIN = "reme_alice-0123456789", "reme_bob-0123456789", "reme_admin-0123456789"


def settings_of(key: str, **limits: Any) -> ApiKeySettings:
    return ApiKeySettings(sha256=hashlib.sha256(key.encode()).hexdigest(), **limits)


KEYS = {
    "alice": settings_of(ALICE, max_active_jobs=2),
    "bob": settings_of(BOB),
    "admin": settings_of(ADMIN, administrator=True),
}


class Inner:
    """Answers 200 and remembers with which key it was reached."""

    def __init__(self) -> None:
        self.keys: list[ApiKey] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del receive
        self.keys.append(scope[KEY_IN_SCOPE])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})


async def ask(
    headers: Any = None, *, path: str = "/jobs", keys: dict[str, ApiKeySettings] = KEYS
) -> tuple[httpx.Response, list[ApiKey]]:
    inner = Inner()
    transport = httpx.ASGITransport(Authentication(inner, KnownKeys(keys)))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        return await client.get(path, headers=headers), inner.keys


@pytest.mark.parametrize(
    ("secret", "key"),
    [
        (ALICE, ApiKey("alice", max_active_jobs=2)),
        (BOB, ApiKey("bob")),
        (ADMIN, ApiKey("admin", administrator=True)),
    ],
)
@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER  "])
async def test_a_known_key_is_let_through_with_what_it_may(secret: str, key: ApiKey, scheme: str) -> None:
    answer, reached = await ask({"Authorization": f"{scheme} {secret}"})
    assert answer.status_code == 200
    assert reached == [key]


async def test_without_a_key_the_challenge_says_only_which_scheme() -> None:
    answer, reached = await ask()
    assert reached == []
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert "error" not in answer.headers["www-authenticate"]
    assert answer.headers["content-type"] == "application/problem+json"
    assert {name: answer.json()[name] for name in ("code", "error", "retryable", "status")} == {
        "code": "unauthorized",
        "error": "UnauthorizedError",
        "retryable": False,
        "status": 401,
    }


@pytest.mark.parametrize(
    "value",
    [
        f"Bearer {ALICE}x",
        f"Bearer {ALICE[:-1]}",
        f"Bearer {ALICE} {ALICE}",
        f"Basic {ALICE}",
        ALICE,
        "Bearer",
        "Bearer ",
        "",
        f"Bearer\t{ALICE}",
        "Bearer \xff\xfe",
        "Bearer " + KEYS["alice"].sha256,
        f"Bearer {ALICE}, Bearer {BOB}",
        "Bearer " + "a" * 50_000,
    ],
)
async def test_anything_else_is_an_invalid_token(value: str) -> None:
    answer, reached = await ask([(b"authorization", value.encode("latin-1"))])
    assert reached == []
    assert answer.status_code == 401
    assert 'error="invalid_token"' in answer.headers["www-authenticate"]
    assert ALICE not in answer.text


async def test_two_keys_in_one_request_are_none() -> None:
    answer, reached = await ask([("Authorization", f"Bearer {ALICE}"), ("Authorization", f"Bearer {BOB}")])
    assert (answer.status_code, reached) == (401, [])


async def test_a_key_in_the_query_is_none() -> None:
    answer, reached = await ask(path=f"/jobs?access_token={ALICE}&key={ALICE}")
    assert (answer.status_code, reached) == (401, [])


async def test_health_never_needs_a_key() -> None:
    answer, reached = await ask(path="/health")
    assert (answer.status_code, reached) == (200, [NOBODY])


@pytest.mark.parametrize(
    "path", ["/health/", "//health", "/health/../jobs", "/HEALTH", "/ready", "/metrics", "/openapi.json"]
)
async def test_what_only_looks_like_health_needs_one(path: str) -> None:
    answer, _ = await ask(path=path)
    assert answer.status_code == 401


async def test_without_keys_everybody_is_nobody() -> None:
    for headers in ({}, {"Authorization": f"Bearer {ALICE}"}):
        answer, reached = await ask(headers, keys={})
        assert (answer.status_code, reached) == (200, [NOBODY])


async def test_every_known_hash_is_compared_whichever_one_matches(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[Any] = []

    def compare(left: Any, right: Any) -> bool:
        compared.append(left)
        return hmac_compare(left, right)

    hmac_compare = hmac.compare_digest
    monkeypatch.setattr(hmac, "compare_digest", compare)
    known = KnownKeys(KEYS)
    for secret in (ALICE, ADMIN, "unknown"):
        compared.clear()
        known.find(secret.encode())
        assert compared == [key.sha256.encode() for key in KEYS.values()]


async def test_nothing_of_a_key_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    await ask({"Authorization": f"Bearer {ALICE}"})
    await ask({"Authorization": f"Bearer {BOB}x"})
    assert ALICE not in caplog.text
    assert BOB not in caplog.text
    assert "sha256" not in caplog.text


async def test_a_websocket_without_a_key_is_closed() -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    scope = {"type": "websocket", "path": "/jobs", "headers": []}
    await Authentication(Inner(), KnownKeys(KEYS))(scope, receive, send)
    assert sent == [{"type": "websocket.close", "code": 1008}]


@pytest.mark.parametrize("name", ["", "a b", "a/b", "ä", "a\n", "a" * 65, "a\0", 'a"', "anonymous"])
def test_a_name_that_could_be_taken_for_something_else_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match=r"service\.api_keys: "):
        KnownKeys({name: settings_of(ALICE)})


@pytest.mark.parametrize("name", ["a", "Team-1", "ci.main", "a_b", "9", "a" * 64])
def test_usual_names_are_fine(name: str) -> None:
    found = KnownKeys({name: settings_of(ALICE)}).find(ALICE.encode())
    assert found is not None
    assert found.name == name


def test_one_key_under_two_names_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="'a' and 'b' are the same key"):
        KnownKeys({"a": settings_of(ALICE), "b": settings_of(ALICE)})
