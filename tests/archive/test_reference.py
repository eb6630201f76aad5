"""References: exactly one shape, and nothing outside of the archive or of the session behind them."""

from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reme_compact.archive.archive import Archive
from reme_compact.archive.filesystem import FilesystemStorage
from reme_compact.archive.reference import Session, original_bytes, original_text, parse_reference, reference_to
from reme_compact.archive.storing import NewEntry
from reme_compact.contract.errors import InvalidReferenceError, InvalidRequestError, ReferenceNotFoundError

GOOD = f"archive/{'0123456789abcdef' * 2}/{'0123456789abcdef' * 4}"
SESSION = "0123456789abcdef" * 2
HOSTILE = [
    "",
    "archive",
    "archive//",
    f"/{GOOD}",
    f"{GOOD}/",
    f"{GOOD}\n",
    f" {GOOD}",
    f"{GOOD}\x00",
    f"{GOOD}.json",
    GOOD.upper(),
    GOOD.replace("a", "A"),
    GOOD.replace("0", "٠"),
    GOOD.replace("0", "０"),
    GOOD.replace("/", "%2f"),
    GOOD.replace("/", "\\"),
    GOOD.replace("/", "//"),
    quote(GOOD, safe=""),
    f"../{GOOD}",
    f"archive/{SESSION}/../../../etc/passwd",
    f"archive/../{SESSION}/{'0' * 64}",
    f"archive/{'.' * 32}/{'.' * 64}",
    f"archive/{SESSION}/{'%2e%2e%2f' * 7}0",
    f"archive/{SESSION}/{'0' * 63}",
    f"archive/{SESSION}/{'0' * 65}",
    f"archive/{SESSION}/..%00{'0' * 59}",
    "file:///etc/passwd",
    "/etc/passwd",
    "\ud800",
    "memory://archive",
]


def test_a_reference_is_known_before_anything_is_written() -> None:
    reference = reference_to(Session("travel"), "text")
    assert parse_reference(str(reference)) == reference
    assert reference == reference_to(Session("travel"), "text")


@pytest.mark.parametrize("hostile", HOSTILE)
def test_anything_else_is_no_reference(hostile: str) -> None:
    with pytest.raises(InvalidReferenceError) as caught:
        parse_reference(hostile)
    assert caught.value.code == "invalid_reference"
    assert hostile.strip() in {"", "archive"} or hostile not in caught.value.message


@pytest.mark.parametrize("value", [None, 7, b"archive", ["archive"]])
def test_only_text_is_a_reference(value: object) -> None:
    with pytest.raises(InvalidReferenceError):
        parse_reference(value)  # type: ignore[arg-type] # what a careless caller does


@given(
    st.one_of(
        st.text(st.characters()), st.lists(st.sampled_from(["..", "/", "archive", "%2f", "a", "0" * 32])).map("".join)
    )
)
def test_no_text_but_the_one_shape_is_a_reference(text: str) -> None:
    with pytest.raises(InvalidReferenceError):
        parse_reference(text)


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> tuple[Archive, dict[str, str]]:
    directory: Path = tmp_path_factory.mktemp("store")
    (directory / "secret").write_text("outside")
    archive = Archive(FilesystemStorage(directory / "archive"))
    texts = {}
    for owner in ("anna", "bert", ""):
        session = Session("travel", owner)
        stored = archive.store(session, NewEntry("call", "tool", f"belongs to {owner or 'nobody'}"))
        texts[stored.reference] = owner
    return archive, texts


PARTS = st.sampled_from(
    ["archive", "..", ".", "sessions", "blobs", "secret", "session.json", "%2e%2e", "", "*", "\x00"]
)


@given(data=st.data())
def test_no_reference_reads_outside_the_store_or_another_session(
    archives: tuple[Archive, dict[str, str]], data: st.DataObject
) -> None:
    archive, texts = archives
    known = [part for reference in texts for part in reference.split("/")]
    hostile = st.lists(st.one_of(PARTS, st.sampled_from(known), st.text(st.characters(), max_size=4)), max_size=8)
    reference = data.draw(st.one_of(hostile.map("/".join), st.sampled_from(sorted(texts)), st.sampled_from(HOSTILE)))
    for owner in ("anna", "bert", ""):
        try:
            text = archive.read(reference, Session("travel", owner)).text
        except (InvalidReferenceError, ReferenceNotFoundError):
            continue
        assert texts[reference] == owner
        assert text == f"belongs to {owner or 'nobody'}"


names = st.text(st.characters(), min_size=1).filter(str.strip)


@given(names, st.text(st.characters()), names, st.text(st.characters()))
def test_different_sessions_have_different_ids(name: str, owner: str, other_name: str, other_owner: str) -> None:
    one, other = Session(name, owner), Session(other_name, other_owner)
    assert (one.id == other.id) == (one == other)


def test_owner_and_session_do_not_run_into_each_other() -> None:
    splits = {Session("abc:1:d"[cut:], "abc:1:d"[:cut]).id for cut in range(7)}
    assert len(splits) == 7


@given(st.text(st.characters()))
def test_the_bytes_of_a_text_are_that_text(text: str) -> None:
    assert original_text(original_bytes(text)) == text


@pytest.mark.parametrize("name", ["", "  \n", None, 7])
def test_a_session_has_a_name(name: object) -> None:
    with pytest.raises(InvalidRequestError):
        Session(name)  # type: ignore[arg-type] # what a careless caller does
