"""Compactions with an archive: requests, steps, what they proposed, and whether it can be read back."""

import json
from collections.abc import Callable
from typing import Any
from uuid import uuid4

from histories import Message, request_for
from models import always

from reme_compact import CompactContextStep, CompactionRequest
from reme_compact.archive.archive import Archive
from reme_compact.archive.fsspec_storage import FsspecStorage
from reme_compact.archive.names import text_name
from reme_compact.archive.outputs import Output
from reme_compact.archive.reference import Session, parse_reference, reference_to
from reme_compact.archive.storage import Storage
from reme_compact.history.pairs import ToolCall, pair_tool_blocks
from reme_compact.history.preview import is_preview, recovery_marker
from reme_compact.history.recovery import RECOVERY_TOOL
from reme_compact.history.text import result_text

SESSION = Session("travel")


def memory_archive() -> Archive:
    """Return an archive of its own in memory."""
    return Archive(FsspecStorage(f"memory://{uuid4().hex}/archive"))


def archived_request(messages: list[Message], session: str | None = SESSION.name, **fields: Any) -> dict[str, Any]:
    """Return a request without source refs, for a session's archive; every tool is eligible and nothing recent."""
    options = {"preserve_recent_pairs": 0, **fields.pop("options", {})}
    fields = {"source_refs": {}, **fields}
    if session is not None:
        fields["archive"] = {"session": session}
    return request_for(messages, options=options, **fields)


async def compact_with(
    archive: Archive | str | None, request: dict[str, Any], model: Any = None, *, owner: str = "", **step: Any
) -> dict[str, Any]:
    """Compact, by default with a decision model that needs nothing; the source must be what it was."""
    written = json.dumps(request)
    made = CompactContextStep(as_decision_model=model or always(0.0), archive=archive, **step)
    answer: dict[str, Any] = (await made.run(CompactionRequest.parse(request), owner=owner)).answer
    assert json.dumps(request) == written
    return answer


def decisions_of(answer: dict[str, Any], action: str = "preview") -> list[dict[str, Any]]:
    return [decision for decision in answer["decisions"] if decision["action"] == action]


def references_of(answer: dict[str, Any]) -> list[str]:
    return [decision["source_ref"] for decision in decisions_of(answer)]


def rules_of(answer: dict[str, Any]) -> dict[str, str]:
    """Return, per call id, the rule that protected it."""
    details = answer["stats"]["details"]
    return {
        decision["call_id"]: details[decision["id"]]
        for decision in answer["decisions"]
        if decision["reason"] == "protected"
    }


def calls_of(request: dict[str, Any]) -> dict[str, ToolCall]:
    """Return the calls of a request by decision id, reused ids paired as with an archive."""
    refs = request["source_refs"]
    pairing = pair_tool_blocks(request["messages"], may_go_by_place=lambda call_id: call_id not in refs)
    return {found.id: found for found in pairing.calls}


def outputs_under(archive: Archive, session: Session, reference: str, call_id: str) -> list[Output]:
    """Return every output that is kept for a call under a reference; more than one only if its id was used again."""
    envelopes = archive.stat(reference, session).envelopes
    return [
        archive.original(reference, session, claim=envelope.claim)
        for envelope in envelopes
        if envelope.call_id == call_id
    ]


def check_recoverable(archive: Archive, session: Session, request: dict[str, Any], answer: dict[str, Any]) -> int:
    """See that every preview names a reference of the session that gives the whole result back; return how many."""
    calls = calls_of(request)
    proposed = {found.id: found for found in calls_of({**request, "messages": answer["messages"]}).values()}
    for decision in decisions_of(answer):
        reference, source = decision["source_ref"], calls[decision["id"]]
        assert source.result is not None
        shown = proposed[decision["id"]].result
        assert shown is not None
        assert shown["output"].endswith("\n" + recovery_marker(reference))
        if decision["call_id"] in request["source_refs"]:
            assert reference == request["source_refs"][decision["call_id"]]
            continue
        whole = archive.original(reference, session)
        text = result_text({"output": whole})
        assert text is not None
        assert not is_preview(text)
        assert reference == str(reference_to(session, text))
        if source.call.get("name") == RECOVERY_TOOL and reference in str(source.call.get("input")):
            continue
        assert text == result_text(source.result)
        assert source.result["output"] in outputs_under(archive, session, reference, decision["call_id"])
    return len(decisions_of(answer))


def claimed(archive: Archive, session: Session = SESSION) -> list[str]:
    """Return the ids of the calls for which a session keeps something."""
    listing = archive.entries(session)
    assert listing.damaged == ()
    return sorted(envelope.call_id for envelope in listing.envelopes)


def everything_in(archive: Archive) -> list[str]:
    return sorted([*archive.storage.list("blobs/"), *archive.storage.list("sessions/")])


def text_object(text: str, session: Session = SESSION) -> str:
    """Return the name under which a text is kept."""
    return text_name(parse_reference(str(reference_to(session, text))).sha256)


class StorageAround:
    """A place that does what another one does, unless a subclass interferes."""

    def __init__(self, storage: Storage) -> None:
        self.inner = storage

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def counts_output(share: Callable[[str], int] = len) -> Callable[[list[Message]], int]:
    """Return a token counter that looks at outputs of text only."""

    def count(messages: list[Message]) -> int:
        return sum(share(str(block.get("output", ""))) for item in messages for block in item["content"])

    return count
