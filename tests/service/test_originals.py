"""A piece of any text arrives as it is, and a refusal's time tells nothing."""

import json

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reme_compact.archive.archive import Archive
from reme_compact.archive.filesystem import FilesystemStorage
from reme_compact.archive.reference import Session
from reme_compact.archive.storing import NewEntry
from reme_compact.service.originals import REFUSAL_SECONDS, read_piece, seconds_until_refusal
from reme_compact.service.query import PieceQuery


@given(
    st.text(st.characters(exclude_categories=[]) | st.sampled_from("\ud83d\ude00👩‍👧\r\n🇩🇪"), max_size=60), st.data()
)
@settings(max_examples=200)
def test_every_text_is_given_back_by_every_reader_of_json(
    tmp_path_factory: pytest.TempPathFactory, text: str, data: st.DataObject
) -> None:
    archive = Archive(FilesystemStorage(tmp_path_factory.getbasetemp() / "any_text"))
    reference = archive.store(Session("travel"), NewEntry("c", "read_file", text)).reference
    found = ""
    offset: int | None = 0
    while offset is not None:
        query = PieceQuery(offset=offset, max_chars=data.draw(st.integers(1, 40)))
        answer = read_piece(archive, reference, owner="", query=query)
        piece = json.loads(answer)
        assert piece["offset"] == offset
        if not any("\ud800" <= character <= "\udfff" for character in piece["text"]):
            assert orjson.loads(answer) == piece
        found += piece["text"]
        offset = piece["next_offset"]
        assert offset in {None, len(found)}
    assert found == text


@given(st.floats(1e-6, 10.0))
def test_refusals_end_at_whole_multiples_of_a_time(elapsed: float) -> None:
    left = seconds_until_refusal(elapsed)
    assert 0 <= left <= REFUSAL_SECONDS
    assert (elapsed + left) / REFUSAL_SECONDS == pytest.approx(round((elapsed + left) / REFUSAL_SECONDS))
    assert elapsed + left > 0
