"""Both clients against a real service, started as a user would."""

import copy
import itertools
from typing import Any

import pytest

from reme_compact.contract.errors import (
    IdempotencyConflictError,
    InvalidReferenceError,
    InvalidRequestError,
    JobNotFoundError,
    ReferenceNotFoundError,
    RequestTooLargeError,
)
from reme_compact.contract.request import CompactionRequest
from reme_compact.contract.result import CompactionResult

REQUEST = CompactionRequest.example
NO_JOB = "019a0c6f2b1e-0123456789abcdef0123"
_names = itertools.count()


@pytest.fixture
def client(connect: Any, url: str) -> Any:
    return connect(url)


def archived(session: str) -> dict[str, Any]:
    """A request whose long result is previewed, and kept in the archive."""
    request = copy.deepcopy(REQUEST)
    del request["source_refs"]
    request["messages"][1]["content"][1]["output"] = "icons/cart.svg, größer 😀 \n" * 2_000
    return {
        **request,
        "options": {"preserve_recent_messages": 1, "drop_threshold": 1.0},
        "archive": {"session": session},
    }


def test_a_proposal(client: Any) -> None:
    response = client.compact_context(REQUEST)
    assert response.success
    result = CompactionResult.model_validate(response.answer)
    assert [decision.call_id for decision in result.decisions] == ["c1"]
    assert response.metadata["compaction"] == response.answer["stats"]


def test_a_request_may_be_a_mapping_a_model_or_keys(client: Any) -> None:
    for answer in (
        client.compact_context(REQUEST),
        client.compact_context(CompactionRequest.parse(REQUEST)),
        client.compact_context(**REQUEST),
        client.compact_context({**REQUEST, "goal": "Another"}, goal=REQUEST["goal"]),
    ):
        assert answer.answer["messages"] == REQUEST["messages"]
        assert answer.answer["decisions"][0]["reason"] == "no_savings"


def test_other_formats_come_back_as_they_are(client: Any) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "search_code", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Find it"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "nothing \ud800"},
        {"role": "user", "content": "Go on"},
    ]
    response = client.compact_context(messages=messages, format="openai_chat")
    assert response.answer["messages"] == messages


def test_what_is_wrong_with_a_request_is_named(client: Any) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        client.compact_context(REQUEST, gaol="Fix it", options={"drop_threshold": 2})
    assert {problem["path"] for problem in caught.value.problems} == {"gaol", "options.drop_threshold"}
    assert "did you mean 'goal'?" in caught.value.message
    assert caught.value.code == "invalid_request"


@pytest.mark.parametrize("value", [float("nan"), object(), {1, 2}], ids=["nan", "object", "set"])
def test_what_json_cannot_carry_is_refused_before_it_is_sent(client: Any, value: Any) -> None:
    with pytest.raises(InvalidRequestError, match="JSON cannot carry"):
        client.compact_context(REQUEST, goal=value)


def test_a_body_that_is_too_large_is_refused_although_it_was_not_read(client: Any) -> None:
    with pytest.raises(RequestTooLargeError):
        client.compact_context(REQUEST, goal="x" * 30_000_000)


def test_a_job_from_its_submission_to_its_result(client: Any) -> None:
    job = client.submit(REQUEST, start_within_seconds=60)
    response = client.wait(job.id)
    assert response == client.result(job.id)
    assert response.answer["messages"] == REQUEST["messages"]
    finished = client.job(job.id)
    assert (finished.id, finished.status, finished.is_final) == (job.id, "succeeded", True)
    assert client.cancel(job.id) == finished


def test_events_up_to_the_last_and_from_any_on(client: Any) -> None:
    job = client.submit(REQUEST)
    events = list(client.events(job.id))
    assert events[0].type == "queued"
    assert events[-1].type == "finished"
    assert events[-1].data["status"] == "succeeded"
    assert list(client.events(job.id, events[0].id)) == events[1:]
    assert list(client.events(job.id, last_event_id=events[-2].id)) == events[-1:]


def test_a_loop_over_events_may_be_left(client: Any) -> None:
    job = client.submit(REQUEST)
    events = client.events(job.id)
    assert next(events).type == "queued"
    events.close()
    assert list(events) == []


def test_the_same_name_is_the_same_job(client: Any) -> None:
    name = f"name-{next(_names)}"
    first = client.submit(REQUEST, idempotency_key=name)
    assert client.submit(REQUEST, idempotency_key=name).id == first.id
    with pytest.raises(IdempotencyConflictError):
        client.submit(REQUEST, goal="Another", idempotency_key=name)
    with pytest.raises(InvalidRequestError, match=r"^idempotency_key: "):
        client.submit(REQUEST, idempotency_key="two words")


def test_jobs_come_in_pages_the_newest_first(client: Any) -> None:
    made = [client.submit(REQUEST).id for _ in range(5)]
    for job_id in made:
        client.wait(job_id)
    pages = list(itertools.islice(client.jobs(status="succeeded", limit=2), 3))
    assert [len(page.jobs) for page in pages[:2]] == [2, 2]
    assert [job.id for page in pages for job in page.jobs][:5] == made[::-1]
    *_, last = client.jobs(limit=100)
    assert last.next_cursor is None


def test_queries_are_named_as_arguments(client: Any) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        next(client.jobs(limit=1000))
    assert [problem["path"] for problem in caught.value.problems] == ["limit"]
    assert caught.value.message.startswith("limit: ")


@pytest.mark.parametrize("name", ["job", "result", "cancel", "wait"])
@pytest.mark.parametrize("job_id", [NO_JOB, "größer/../x?"])
def test_no_such_job(client: Any, name: str, job_id: str) -> None:
    with pytest.raises(JobNotFoundError):
        getattr(client, name)(job_id)


def test_originals_come_back(client: Any) -> None:
    request = archived(f"session-{next(_names)}")
    original = request["messages"][1]["content"][1]["output"]
    response = client.compact_context(request)
    reference = response.answer["decisions"][0]["source_ref"]
    assert response.answer["decisions"][0]["action"] == "preview"
    assert client.original(reference) == original
    piece = client.recover(reference, offset=8, max_chars=10)
    assert (piece.text, piece.next_offset, piece.total_chars) == (original[8:18], 18, len(original))
    with pytest.raises(InvalidRequestError, match=r"^offset: "):
        client.recover(reference, offset=10**6)
    with pytest.raises(ReferenceNotFoundError):
        client.original(reference[:-1] + ("0" if reference[-1] != "0" else "1"))


@pytest.mark.parametrize("reference", ["archive/x", "../jobs", "", "archive/demo/c1"])
def test_what_is_no_reference_is_not_asked_for(client: Any, reference: str) -> None:
    for name in ("recover", "original"):
        with pytest.raises(InvalidReferenceError):
            getattr(client, name)(reference)


def test_the_service_tells_how_it_is(client: Any) -> None:
    assert client.health().status == "alive"
    ready = client.ready()
    assert ready.is_ready
    assert (ready.missing, ready.decision_model.backend) == ([], "local")
