"""No loops: what an agent read back is previewed under its original's reference, and never archived a second time."""

from typing import Any

import pytest
from archiving import (
    SESSION,
    archived_request,
    claimed,
    compact_with,
    counts_output,
    decisions_of,
    everything_in,
    memory_archive,
    references_of,
    rules_of,
)
from histories import call, history, long_text, message, result, text
from models import ScriptedModel, always

from reme_compact import BinaryAnswer
from reme_compact.archive.archive import Archive
from reme_compact.archive.names import TEXTS
from reme_compact.archive.reference import Session, reference_to
from reme_compact.archive.storing import NewEntry
from reme_compact.history.preview import recovery_marker
from reme_compact.history.recovery import RECOVERY_TOOL

pytestmark = pytest.mark.anyio


@pytest.fixture
def archive() -> Archive:
    return memory_archive()


def recovery(reference: str, output: str, call_id: str = "r") -> dict[str, Any]:
    asked = call(call_id, RECOVERY_TOOL, {"ref": reference})
    return message("assistant", asked, result(call_id, output, RECOVERY_TOOL))


def unrelated(pairs: int) -> list[dict[str, Any]]:
    """Return messages with so many pairs of a tool that is not eligible."""
    return [message("assistant", call(f"u{n}", "shell"), result(f"u{n}", "done", "shell")) for n in range(pairs)]


def texts_in(archive: Archive) -> list[str]:
    return [name for name in everything_in(archive) if name.startswith(TEXTS)]


async def go_on(archive: Archive, messages: list[dict[str, Any]], model: Any = None) -> dict[str, Any]:
    request = archived_request(messages, eligible_tool_names=["read_file"])
    return await compact_with(archive, request, model)


async def test_over_many_compactions_one_original_stays_one_original(archive: Archive) -> None:
    """An agent loses a result, reads it back, loses it again, reads it back again: three times around."""
    answer = await go_on(archive, history(1))
    (reference,) = references_of(answer)
    texts_before = texts_in(archive)
    for turn in range(3):
        piece = archive.read(reference, SESSION, 0, 1500).text
        messages = [*answer["messages"], recovery(reference, piece, f"r{turn}"), *unrelated(1)]
        recent = await go_on(archive, messages)
        assert rules_of(recent)[f"r{turn}"] == "recently_recovered"
        assert recent["messages"] == messages
        answer = await go_on(archive, [*messages, *unrelated(5)])
        (decision,) = decisions_of(answer)
        assert (decision["call_id"], decision["source_ref"]) == (f"r{turn}", reference)
        assert answer["stats"]["archived"] == {"results": 1, "chars": 1500}
        shown = answer["messages"][len(messages) - 2]["content"][1]["output"]
        assert shown.endswith("\n" + recovery_marker(reference))
        assert texts_in(archive) == texts_before
        assert claimed(archive) == ["c0", *(f"r{number}" for number in range(turn + 1))]
    assert archive.original(reference, SESSION) == long_text("c0")


async def test_what_was_read_back_is_claimed_for_whoever_shows_it(archive: Archive) -> None:
    """The only other claim is given up meanwhile, as a compaction does that is cancelled."""
    stored = archive.store(SESSION, NewEntry("c0", "read_file", long_text("c0")))
    messages = [message("user", text("go")), recovery(stored.reference, long_text("c0")[:1500]), *unrelated(5)]
    answer = await go_on(archive, messages)
    assert references_of(answer) == [stored.reference]
    archive.unclaim([stored])
    assert archive.original(stored.reference, SESSION) == long_text("c0")


async def test_a_recovered_result_whose_original_is_gone_is_kept(archive: Archive) -> None:
    answer = await go_on(archive, history(1))
    (reference,) = references_of(answer)
    messages = [*answer["messages"], recovery(reference, long_text("c0")), *unrelated(5)]
    archive.delete(SESSION)
    kept = await go_on(archive, messages)
    assert rules_of(kept)["r"] == "archive_failed"
    assert kept["messages"] == messages
    assert everything_in(archive) == []


async def test_a_reference_of_another_session_is_not_read_back_and_not_eligible(archive: Archive) -> None:
    theirs = str(reference_to(Session("theirs"), "x"))
    messages = [*history(1), recovery(theirs, long_text("r")), *unrelated(5)]
    assert rules_of(await go_on(archive, messages))["r"] == "tool_not_eligible"
    assert claimed(archive) == ["c0"]


async def test_what_a_recovered_result_refers_to_stays_claimed_though_the_result_itself_is_kept(
    archive: Archive,
) -> None:
    """The original stands whole in the history, was deleted from the archive, and is stored again on the way."""
    original = long_text("c0")
    reference = str(reference_to(SESSION, original))
    model = ScriptedModel(lambda unit: BinaryAnswer(0.0 if unit["tool"] == RECOVERY_TOOL else 0.05))
    messages = [*history(1), recovery(reference, original[:1900]), *unrelated(5)]
    request = archived_request(messages, eligible_tool_names=["read_file"], options={"max_output_tokens": 2600})
    answer = await compact_with(archive, request, model, token_counter=counts_output())
    assert [decision["call_id"] for decision in decisions_of(answer)] == ["r"]
    assert references_of(answer) == [reference]
    assert archive.original(reference, SESSION) == original


async def test_a_host_may_name_it_and_give_it_a_reference_of_its_own(archive: Archive) -> None:
    reference = references_of(await go_on(archive, history(1)))[0]
    before = everything_in(archive)
    messages = [message("user", text("go")), recovery(reference, long_text("c0")), *unrelated(5)]
    request = archived_request(messages, source_refs={"r": "host/r"}, eligible_tool_names=[RECOVERY_TOOL])
    answer = await compact_with(archive, request, always(0.0))
    assert references_of(answer) == ["host/r"]
    assert answer["stats"]["archived"] == {"results": 0, "chars": 0}
    assert everything_in(archive) == before
