"""Compaction with an archive as a host uses it: references, what is claimed, and doing it again."""

import json
from pathlib import Path
from typing import Any

import pytest
from archiving import (
    SESSION,
    archived_request,
    check_recoverable,
    claimed,
    compact_with,
    counts_output,
    decisions_of,
    everything_in,
    memory_archive,
    references_of,
    rules_of,
    text_object,
)
from compacting import reasons
from histories import call, history, long_text, message, result, text
from models import ScriptedModel, always

from reme_compact import BinaryAnswer, CompactContextStep, CompactionResult
from reme_compact.archive.archive import Archive
from reme_compact.archive.reference import Session, reference_to
from reme_compact.contract.errors import ReferenceNotFoundError

pytestmark = pytest.mark.anyio

BLOCKS = [text(long_text("one")), {**text(long_text("zwei grün")), "id": "b2", "meta": {"n": [1, None]}}]


@pytest.fixture
def archive() -> Archive:
    return memory_archive()


def twice(first: Any, second: Any) -> list[dict[str, Any]]:
    """Return a history in which an id is used twice."""
    uses = [message("assistant", call("c"), result("c", output)) for output in (first, second)]
    return [message("user", text("go")), *uses, message("user", text("on"))]


def by_output(probabilities: dict[str, float]) -> ScriptedModel:
    """Answer by what a result begins with."""
    return ScriptedModel(
        lambda unit: BinaryAnswer(next(p for start, p in probabilities.items() if unit["result"].startswith(start)))
    )


async def test_the_reference_is_known_before_anything_is_written_and_opens_the_result(archive: Archive) -> None:
    messages = history(3)
    expected = [str(reference_to(SESSION, long_text(f"c{n}"))) for n in range(3)]
    request = archived_request(messages)
    answer = await compact_with(archive, request)
    assert references_of(answer) == expected
    assert check_recoverable(archive, SESSION, request, answer) == 3
    assert answer["stats"]["archived"] == {"results": 3, "chars": 6000}
    CompactionResult.model_validate(answer, strict=True)
    assert [archive.original(reference, SESSION) for reference in expected] == [long_text(f"c{n}") for n in range(3)]


async def test_it_is_the_same_in_a_directory_that_is_named_by_its_path(tmp_path: Path) -> None:
    place = str(tmp_path / "archive")
    request = archived_request(history(2))
    answer = await compact_with(place, request)
    step = CompactContextStep(as_decision_model=always(0.0), archive=place)
    assert step.archive is not None
    assert check_recoverable(step.archive, SESSION, request, answer) == 2


async def test_content_blocks_come_back_as_content_blocks(archive: Archive) -> None:
    request = archived_request([message("user", text("go")), message("assistant", call("c"), result("c", BLOCKS))])
    answer = await compact_with(archive, request)
    (reference,) = references_of(answer)
    assert archive.original(reference, SESSION) == BLOCKS


async def test_reused_ids_each_keep_their_own(archive: Archive) -> None:
    request = archived_request(twice(long_text("first"), BLOCKS))
    answer = await compact_with(archive, request)
    assert [decision["call_id"] for decision in decisions_of(answer)] == ["c", "c"]
    assert check_recoverable(archive, SESSION, request, answer) == 2


async def test_reused_ids_with_a_reference_of_the_host_stay_ambiguous(archive: Archive) -> None:
    request = archived_request(twice(long_text("first"), BLOCKS), source_refs={"c": "host/c"})
    answer = await compact_with(archive, request)
    assert rules_of(answer) == {"c": "ambiguous_id"}
    assert claimed(archive) == []


async def test_references_of_the_host_win_and_their_results_are_not_archived(archive: Archive) -> None:
    request = archived_request(history(3), source_refs={"c1": "host/c1"})
    answer = await compact_with(archive, request)
    assert references_of(answer)[1] == "host/c1"
    assert claimed(archive) == ["c0", "c2"]
    assert answer["stats"]["archived"] == {"results": 2, "chars": 4000}
    assert check_recoverable(archive, SESSION, request, answer) == 3


async def test_a_kept_decision_names_no_reference_of_the_archive(archive: Archive) -> None:
    request = archived_request(history(2), source_refs={"c1": "host/c1"})
    answer = await compact_with(archive, request, always(0.9))
    assert [decision["source_ref"] for decision in answer["decisions"]] == [None, "host/c1"]
    assert answer["stats"]["archived"] == {"results": 0, "chars": 0}
    assert everything_in(archive) == []


async def test_what_a_met_budget_leaves_alone_is_not_claimed(archive: Archive) -> None:
    model = by_output({"c0": 0.03, "c1": 0.01, "c2": 0.02, "c3": 0.5})
    request = archived_request(history(4), options={"max_output_tokens": 6600})
    answer = await compact_with(archive, request, model, token_counter=counts_output())
    assert reasons(answer) == ["within_budget", "low_relevance", "within_budget", "needed_or_uncertain"]
    assert claimed(archive) == ["c1"]
    assert answer["stats"]["archived"] == {"results": 1, "chars": 2000}
    assert check_recoverable(archive, SESSION, request, answer) == 1


async def test_what_does_not_lower_the_count_is_not_claimed(archive: Archive) -> None:
    request = archived_request(history(3), options={"max_output_tokens": 1})
    answer = await compact_with(archive, request, token_counter=lambda _: 7)
    assert reasons(answer) == ["no_savings"] * 3
    assert claimed(archive) == []


async def test_what_an_earlier_proposal_refers_to_stays_claimed_when_a_later_one_keeps_it(archive: Archive) -> None:
    first = await compact_with(archive, archived_request(history(3)))
    request = archived_request(history(3), options={"max_output_tokens": 1})
    await compact_with(archive, request, token_counter=lambda _: 7)
    assert claimed(archive) == ["c0", "c1", "c2"]
    assert check_recoverable(archive, SESSION, archived_request(history(3)), first) == 3


async def test_a_claim_that_two_calls_share_is_not_given_up_while_one_of_them_needs_it(archive: Archive) -> None:
    same = long_text("same")
    model = ScriptedModel(lambda unit: BinaryAnswer({"t1": 0.05, "t2": 0.01}[unit["id"]]))
    request = archived_request(twice(same, same), options={"max_output_tokens": 2600})
    answer = await compact_with(archive, request, model, token_counter=counts_output())
    assert reasons(answer) == ["within_budget", "low_relevance"]
    assert check_recoverable(archive, SESSION, request, answer) == 1


async def test_if_the_budget_is_met_from_the_start_nothing_is_archived(archive: Archive) -> None:
    request = archived_request(history(3), options={"max_output_tokens": 6000})
    answer = await compact_with(archive, request, token_counter=counts_output())
    assert reasons(answer) == ["within_budget"] * 3
    assert everything_in(archive) == []


async def test_a_proposal_compacted_again_asks_stores_and_changes_nothing(archive: Archive) -> None:
    first = await compact_with(archive, archived_request(history(4)))
    before = everything_in(archive)
    model = always(0.0)
    again = await compact_with(archive, archived_request(first["messages"]), model)
    assert model.asked == []
    assert again["messages"] == first["messages"]
    assert (again["changed"], again["reason"]) == (False, "no_candidates")
    assert set(rules_of(again).values()) == {"already_compacted"}
    assert everything_in(archive) == before


async def test_the_same_history_compacted_again_gives_the_same_and_stores_nothing_new(archive: Archive) -> None:
    request = archived_request(history(4))
    first = await compact_with(archive, request)
    before = everything_in(archive)
    again = await compact_with(archive, request)
    assert (again["messages"], again["decisions"]) == (first["messages"], first["decisions"])
    assert everything_in(archive) == before
    assert check_recoverable(archive, SESSION, request, first) == 4


async def test_a_preview_is_never_archived(archive: Archive) -> None:
    marked = long_text("m") + "\n[Compacted output. Recover from: elsewhere/1]"
    messages = [*history(1), message("assistant", call("m"), result("m", marked)), message("user", text("on"))]
    answer = await compact_with(archive, archived_request(messages))
    assert rules_of(answer) == {"m": "already_compacted"}
    assert claimed(archive) == ["c0"]
    assert text_object(marked) not in everything_in(archive)


async def test_sessions_of_different_owners_are_different(archive: Archive) -> None:
    request = archived_request(history(1))
    (annas,) = references_of(await compact_with(archive, request, owner="anna"))
    (nobodys,) = references_of(await compact_with(archive, request))
    assert archive.original(annas, Session("travel", "anna")) == archive.original(nobodys, SESSION)
    for reference, session in ((annas, SESSION), (nobodys, Session("travel", "anna"))):
        with pytest.raises(ReferenceNotFoundError):
            archive.read(reference, session)


async def test_lone_surrogates_and_any_session_name_are_no_trouble(archive: Archive) -> None:
    session = "../\ud800/\x00 'ünïcode' 👩‍👩‍👧"
    request = archived_request(history(1), session=session)
    answer = await compact_with(archive, request)
    assert check_recoverable(archive, Session(session), request, answer) == 1
    assert json.dumps(answer)
