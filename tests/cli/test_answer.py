"""An answer is looked at once; what passes can be shown, whatever else is in it."""

import copy
import io
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reme_compact.cli.answer import flaw_of
from reme_compact.cli.output import show
from reme_compact.cli.report import print_report
from reme_compact.contract.request import CompactionRequest

ODD: list[Any] = [None, True, -1, 0.5, 10**4000, "x", "\x1b[2J", "\ud800", [], [1], [{}], {}, {"a": [None]}, [[]]]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(item, (*path, key))


def replaced(answer: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    changed = copy.deepcopy(answer)
    holder = changed
    for part in path[:-1]:
        holder = holder[part]
    holder[path[-1]] = value
    return changed


def test_a_proposal_passes(response: dict[str, Any]) -> None:
    assert flaw_of(response) is None


@pytest.mark.parametrize(
    ("path", "value", "flaw"),
    [
        ((), [], "no standard response"),
        (("success",), "yes", "no standard response"),
        (("answer",), "text", "no proposal"),
        (("answer", "messages"), None, "answer.messages: "),
        (("answer", "messages", 0), "x", "answer.messages: "),
        (("answer", "messages", 0, "content"), None, "answer.messages: "),
        (("answer", "messages", 0, "content", 0), "x", "answer.messages: "),
        (("answer", "schema_version"), 3, "answer.schema_version: must be 2"),
        (("answer", "reason"), ["compacted"], "answer.reason: must be "),
        (("answer", "changed"), None, "answer.changed: must be true or false"),
        (("answer", "budget_met"), [], "answer.budget_met: must be true or false"),
        (("answer", "decisions"), {}, "answer.decisions: must be a list"),
        (("answer", "decisions", 0), None, "answer.decisions[0]: "),
        (("answer", "decisions", 0, "id"), {}, "answer.decisions[0].id: must be text"),
        (("answer", "decisions", 0, "call_id"), [], "answer.decisions[0].call_id: must be text"),
        (("answer", "decisions", 1, "action"), "drop", "answer.decisions[1].action: must be 'keep' or 'preview'"),
        (("answer", "decisions", 0, "reason"), [], "answer.decisions[0].reason: must be "),
        (("answer", "decisions", 0, "probability"), "x", "answer.decisions[0].probability: must be a number"),
        (("answer", "decisions", 0, "probability"), "0.5", "answer.decisions[0].probability: must be a number"),
        (("answer", "decisions", 0, "probability"), True, "answer.decisions[0].probability: must be a number"),
        (("answer", "decisions", 0, "probability"), 1.5, "answer.decisions[0].probability: must be at most 1"),
        (("answer", "decisions", 0, "source_ref"), 1, "answer.decisions[0].source_ref: must be text"),
    ],
)
def test_a_flaw_is_named_with_its_place(path: tuple[Any, ...], value: Any, flaw: str, response: dict[str, Any]) -> None:
    found = flaw_of(replaced(response, path, value))
    assert found is not None
    assert found.startswith(flaw)


@pytest.mark.parametrize("name", ["messages", "decisions", "changed", "reason"])
def test_a_proposal_is_complete(name: str, response: dict[str, Any]) -> None:
    del response["answer"][name]
    assert flaw_of(response) is not None


def test_a_newer_service_may_say_more(response: dict[str, Any]) -> None:
    response["more"] = response["answer"]["more"] = response["answer"]["decisions"][0]["more"] = [1]
    response["answer"]["stats"]["more"] = {"of": ["it"]}
    assert flaw_of(response) is None


def test_an_id_may_hold_a_lone_surrogate(response: dict[str, Any]) -> None:
    response["answer"]["decisions"][0] |= {"call_id": "c\ud800", "source_ref": "\udfff"}
    assert flaw_of(response) is None


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
@given(data=st.data())
def test_what_passes_can_be_shown(
    data: st.DataObject, response: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(list(places(response))))
        response = replaced(response, path, data.draw(st.sampled_from(ODD)))
        if flaw_of(response) is not None:
            return
    report, complaints = io.StringIO(), io.StringIO()
    print_report(response, report, request=CompactionRequest.example, width=100)
    with monkeypatch.context() as patch:
        patch.setattr("sys.stderr", complaints)
        patch.setattr("sys.stdout", None)
        show(response, "report")
    assert "\x1b" not in report.getvalue() + complaints.getvalue()
