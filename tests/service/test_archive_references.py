"""No path below `/archive/`, however hostile, reads anything but an original of its own session."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import anyio
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from fastapi import FastAPI
from hypothesis import example, given, settings
from hypothesis import strategies as st
from models import always

from reme_compact.archive.archive import Archive
from reme_compact.archive.filesystem import FilesystemStorage
from reme_compact.archive.names import parse_name
from reme_compact.archive.reference import Session
from reme_compact.archive.storing import NewEntry
from reme_compact.compaction.step import CompactContextStep
from reme_compact.service.app import create_app

SECRET = "what stands outside of the archive"
ORIGINAL = "the original"


class WatchedStorage:
    """A place that remembers what it was asked for."""

    def __init__(self, storage: FilesystemStorage) -> None:
        self._storage = storage
        self.asked: list[str] = []

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._storage, name)
        if not callable(method):
            return method

        def watched(first: Any = None, *rest: Any) -> Any:
            self.asked.append(str(first))
            return method(first, *rest)

        return watched


@dataclass
class Answered:
    """Status, content type and content of an answer."""

    status: int = 0
    media_type: str = ""
    content: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Target:
    """A running application, its archive, and the reference to the one original in it."""

    app: FastAPI
    portal: BlockingPortal
    storage: WatchedStorage
    reference: str

    def get(self, raw_path: bytes) -> Answered:
        """Ask as a server would, which decodes the path."""
        return self.portal.call(_get, self.app, raw_path)


async def _get(app: FastAPI, raw_path: bytes) -> Answered:
    answered = Answered()
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": unquote(raw_path.decode("ascii")),
        "raw_path": raw_path,
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(sent: Any) -> None:
        if sent["type"] == "http.response.start":
            answered.status = sent["status"]
            answered.media_type = dict(sent["headers"])[b"content-type"].decode()
        else:
            answered.content += sent.get("body", b"")

    with anyio.fail_after(60):
        await app(scope, receive, send)
    return answered


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "secret").write_text(SECRET)
    directory = folder / "archive"
    kept = Archive(FilesystemStorage(directory)).store(Session("travel"), NewEntry("c", "read_file", ORIGINAL))
    _leave_a_way_out(directory, folder)
    storage = WatchedStorage(FilesystemStorage(directory))
    step = CompactContextStep(as_decision_model=always(0.0), archive=Archive(storage))
    app = create_app(step=step)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(app.router.lifespan_context(app)):
        yield Target(app, portal, storage, kept.reference)


def _leave_a_way_out(directory: Path, folder: Path) -> None:
    """Put links there that somebody else may have left."""
    (directory / "sessions" / ("1" * 32)).symlink_to(folder)
    (directory / "sessions" / ("2" * 32)).mkdir(mode=0o700)
    (directory / "sessions" / ("2" * 32) / "session.json").symlink_to(folder / "secret")


def check(target: Target, raw_path: bytes) -> None:
    """Hold that only the one original is handed out, only under its own reference, and everything else refused."""
    del target.storage.asked[:]
    answered = target.get(raw_path)
    assert SECRET.encode() not in answered.content
    assert all(name.endswith(("/", ".")) or parse_name(name) is not None for name in target.storage.asked)
    if answered.status == 200:
        path = unquote(raw_path.decode())
        assert path in {f"/{target.reference}", f"/archive/{target.reference}"}
        assert json.loads(answered.content)["text"] == ORIGINAL
        return
    assert 400 <= answered.status < 500, raw_path
    assert answered.media_type == "application/problem+json"
    assert ORIGINAL.encode() not in answered.content
    if answered.status == 422:
        assert target.storage.asked == []


HEXADECIMAL = "0123456789abcdef"
PARTS = st.one_of(
    st.sampled_from(
        ["archive", "..", ".", "", "~", "etc", "passwd", "secret", "session.json", "blobs", "sessions", "\x00", "C:\\"]
    ),
    st.sampled_from(["..%2f", "%2e%2e", "%252e%252e%252f", "%00", "%c0%af", "＼", "／", "‥", "a" * 5_000]),
    st.text(st.sampled_from(HEXADECIMAL), min_size=32, max_size=32),
    st.text(st.sampled_from(HEXADECIMAL + "ABCDEF"), min_size=64, max_size=64),
    st.text(max_size=20),
)
SEPARATORS = st.sampled_from(["/", "/", "/", "//", "%2F", "%2f", "%252F", "\\", "%5c", "/../", "%2f..%2f", ";", "?"])


@st.composite
def hostile_paths(draw: st.DrawFn) -> bytes:
    """Make up what follows `/archive/`: parts and separators, escaped once, twice, partly or not at all."""
    path = "".join(draw(PARTS) + draw(SEPARATORS) for _ in range(draw(st.integers(0, 5)))) + draw(PARTS)
    for _ in range(draw(st.integers(0, 2))):
        path = quote(path, safe=draw(st.sampled_from(["/", "", "/%", "/%."])), errors="replace")
    return b"/archive/" + quote(path, safe="/%.;\\", errors="replace").encode("ascii")


@given(hostile_paths())
@settings(max_examples=300)
def test_made_up_paths(target: Target, raw_path: bytes) -> None:
    check(target, raw_path)


@st.composite
def changed_references(draw: st.DrawFn) -> tuple[int, str, str]:
    """Make up a small change: where, what stands there instead, and how the slashes are written."""
    instead = st.sampled_from(["", "..", "A", "%2e", "%00", "%0a", "/", "%2f", "%252f", "٣", "é", "0", " "])
    return draw(st.integers(0, 104)), draw(instead), draw(st.sampled_from(["/", "%2F", "%252F", "//"]))


@given(changed_references(), st.sampled_from(["/", "/archive/", "/archive/../", "/archive//", "/archive/archive/"]))
@example((105, "", "/"), "/")
@example((105, "", "%2F"), "/archive/")
@settings(max_examples=300)
def test_references_that_were_changed_a_little(target: Target, change: tuple[int, str, str], before: str) -> None:
    at, instead, slash = change
    reference = target.reference
    changed = reference[:at] + instead + reference[at + 1 :]
    check(target, (before + quote(changed.replace("/", slash), safe="/%")).encode("ascii"))


@pytest.mark.parametrize(
    "path",
    [
        "/archive/../../secret",
        "/archive/..%2f..%2fsecret",
        "/archive/%2e%2e/%2e%2e/secret",
        "/archive/..%252f..%252fsecret",
        "/archive//etc/passwd",
        "/archive/%2fetc%2fpasswd",
        "/archive/%00",
        f"/archive/{'1' * 32}/secret",
        f"/archive/{'1' * 32}/{'a' * 64}",
        f"/archive/{'2' * 32}/{'a' * 64}",
        f"/archive/{'a' * 60_000}",
        f"/archive/{'../' * 20_000}",
    ],
)
def test_ways_out_that_are_tried_everywhere(target: Target, path: str) -> None:
    answered = target.get(path.encode("ascii"))
    assert answered.status in {404, 422, 500}
    assert SECRET.encode() not in answered.content
    # 500: somebody left a link in the archive, which is damage; it was not followed.
    assert (answered.status == 500) is (path.split("/")[2] in {"1" * 32, "2" * 32} and len(path) > 100)


def test_upper_case_is_no_reference(target: Target) -> None:
    _, session_id, content = target.reference.split("/")
    for path in (f"/archive/{session_id.upper()}/{content}", f"/archive/{session_id}/{content.upper()}"):
        assert target.get(path.encode("ascii")).status == 422
