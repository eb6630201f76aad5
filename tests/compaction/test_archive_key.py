"""Who asks for an archive and for which session: the request's key, the step's default, and what is refused."""

from typing import Any

import pytest
from archiving import (
    SESSION,
    archived_request,
    compact_with,
    everything_in,
    memory_archive,
    references_of,
    rules_of,
)
from histories import history, long_text
from models import always

from reme_compact import CompactContextStep, InvalidRequestError
from reme_compact.archive.archive import Archive
from reme_compact.archive.reference import Session, reference_to

pytestmark = pytest.mark.anyio


@pytest.fixture
def archive() -> Archive:
    return memory_archive()


async def test_without_the_key_nothing_is_archived_although_there_is_an_archive(archive: Archive) -> None:
    answer = await compact_with(archive, archived_request(history(2), session=None))
    assert set(rules_of(answer).values()) == {"no_source_ref"}
    assert answer["stats"]["archived"] is None
    assert any("names no session" in warning for warning in answer["stats"]["warnings"])
    assert everything_in(archive) == []


async def test_a_step_may_have_a_session_for_requests_that_name_none(archive: Archive) -> None:
    unnamed = archived_request(history(1), session=None)
    by_default = await compact_with(archive, unnamed, archive_session="home")
    named = await compact_with(archive, archived_request(history(1)), archive_session="home")
    for answer, session in ((by_default, Session("home")), (named, SESSION)):
        assert references_of(answer) == [str(reference_to(session, long_text("c0")))]
    assert {record.session for record in archive.sessions().sessions} == {Session("home"), SESSION}


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"session": ""}, "archive.session"),
        ({"session": " \n"}, "archive.session"),
        ({"session": None}, "archive.session"),
        ({"session": 7}, "archive.session"),
        ({}, "archive.session"),
        ({"session": "travel", "sesion": "x"}, "archive.sesion"),
        ({"session": "travel", "owner": "bert"}, "archive.owner"),
        ("travel", "archive"),
    ],
)
async def test_a_wrong_archive_key_is_refused_by_its_path(archive: Archive, value: Any, path: str) -> None:
    step = CompactContextStep(as_decision_model=always(0.0), archive=archive)
    with pytest.raises(InvalidRequestError) as refused:
        await step(**{**archived_request(history(1)), "archive": value})
    assert [problem["path"] for problem in refused.value.problems] == [path]
    assert everything_in(archive) == []


async def test_to_ask_for_an_archive_where_there_is_none_is_refused_before_anything_is_asked() -> None:
    model = always(0.0)
    step = CompactContextStep(as_decision_model=model)
    with pytest.raises(InvalidRequestError) as refused:
        await step(**archived_request(history(1)))
    assert [problem["path"] for problem in refused.value.problems] == ["archive"]
    assert model.asked == []
    assert step.archive is None


def test_a_session_without_an_archive_or_without_a_name_is_refused(archive: Archive) -> None:
    with pytest.raises(TypeError, match="archive"):
        CompactContextStep(as_decision_model=always(0.0), archive_session="travel")
    with pytest.raises(InvalidRequestError):
        CompactContextStep(as_decision_model=always(0.0), archive=archive, archive_session=" ")
