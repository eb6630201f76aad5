"""Outputs are taken apart and put together again without loss, or refused."""

from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reme_compact.archive.chunks import CHUNK_BYTES, cut_into_chunks, index_to_bytes, parse_index
from reme_compact.archive.outputs import put_together, take_apart
from reme_compact.archive.reference import original_bytes
from reme_compact.contract.errors import ArchiveDamagedError, InvalidRequestError
from reme_compact.history.preview import is_preview, preview_text
from reme_compact.history.text import result_text

texts = st.text(st.characters())
values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(10**20), 10**20),
        st.floats(allow_nan=False, allow_infinity=False),
        texts,
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=6,
)
blocks = st.builds(
    lambda more, text: {**more, "type": "text", "text": text}, st.dictionaries(texts, values, max_size=3), texts
)
outputs = st.one_of(texts, st.lists(blocks, max_size=4)).filter(
    lambda output: not is_preview(result_text({"output": output}) or "")
)


@given(outputs)
def test_any_output_is_put_together_again(output: Any) -> None:
    text, places = take_apart(output)
    assert text == result_text({"output": output})
    assert put_together(text, places) == output


@pytest.mark.parametrize(
    "output",
    [
        None,
        7,
        {"type": "text", "text": "not in a list"},
        [{"type": "image", "data": "x"}],
        [{"type": "text", "text": None}],
        ["text"],
        [{"type": "text", "text": "x", "score": float("nan")}],
        [{"type": "text", "text": "x", "set": {1}}],
        [{"type": "text", "text": "x", "pair": (1, 2)}],
        [{"type": "text", "text": "x", 7: "a key that is no text"}],
        [{"type": "text", "text": "x", "huge": 10**5000}],
    ],
)
def test_what_could_not_be_given_back_unchanged_is_refused(output: Any) -> None:
    with pytest.raises(InvalidRequestError):
        take_apart(output)


def test_what_is_nested_without_end_is_refused() -> None:
    deep: list[Any] = []
    deep.append(deep)
    with pytest.raises(InvalidRequestError):
        take_apart([{"type": "text", "text": "x", "deep": deep}])


@pytest.mark.parametrize("wrap", [lambda text: text, lambda text: [{"type": "text", "text": text}]])
def test_a_preview_is_never_kept_as_if_it_were_an_original(wrap: Any) -> None:
    with pytest.raises(InvalidRequestError, match="preview"):
        take_apart(wrap(preview_text("long text " * 100, "archive/x", 40)))


@pytest.mark.parametrize(
    "places", [[[0, 2]], [{"text": [0, 1]}], [{"type": "text", "text": [0, True]}], [{"type": "text"}], [7]]
)
def test_blocks_that_do_not_fit_the_text_are_damage(places: Any) -> None:
    with pytest.raises(ArchiveDamagedError):
        put_together("two", places)


@given(
    st.lists(st.sampled_from(["a", "é", "漢", "😀", "\ud800"]), min_size=1, max_size=5).map("".join), st.integers(0, 7)
)
def test_chunks_end_between_characters_and_cover_the_text(unit: str, shift: int) -> None:
    text = "x" * shift + unit * (3 * CHUNK_BYTES // len(original_bytes(unit)))
    data = original_bytes(text)
    chunks = tuple(cut_into_chunks(data))
    assert sum(chunk.bytes for chunk in chunks) == len(data)
    assert sum(chunk.characters for chunk in chunks) == len(text)
    assert all(CHUNK_BYTES - 4 < chunk.bytes <= CHUNK_BYTES for chunk in chunks[:-1])


def test_an_index_of_another_text_is_refused() -> None:

    written = index_to_bytes(tuple(cut_into_chunks(b"a" * 100_000)))
    digest = sha256(written).hexdigest()
    parse_index(written, expected_sha256=digest, total_bytes=100_000, total_characters=100_000)
    for size, characters, expected in ((99_999, 100_000, digest), (100_000, 99_999, digest), (100_000, 100_000, None)):
        with pytest.raises(ArchiveDamagedError):
            parse_index(written, expected_sha256=expected, total_bytes=size, total_characters=characters)
    for garbage in (b"1 2\n", b"a b c\n", b"2 3 x\n", b"\xff", f"{CHUNK_BYTES + 1} 1 x\n".encode()):
        with pytest.raises(ArchiveDamagedError):
            parse_index(garbage, expected_sha256=sha256(garbage).hexdigest(), total_bytes=1, total_characters=1)
