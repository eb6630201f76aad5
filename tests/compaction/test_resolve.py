"""A host that can look its references up keeps what it does not find."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from archiving import SESSION, archived_request, check_recoverable, claimed, compact_with, memory_archive, rules_of
from histories import history, request_for
from models import always

from reme_compact import CompactContextStep, CompactionResult

pytestmark = pytest.mark.anyio


def is_found(reference: str) -> bool:
    return reference != "archive/c1"


def raises(reference: str) -> bool:
    if reference == "archive/c1":
        raise OSError("secret content")
    return True


@pytest.mark.parametrize(
    "resolve",
    [
        is_found,
        raises,
        *(lambda ref, answer=answer: answer if ref == "archive/c1" else True for answer in (1, "yes", None)),
    ],
)
async def test_what_is_not_clearly_found_is_kept_and_the_rest_stands(resolve: Callable[[str], bool]) -> None:
    answer = await compact_with(None, request_for(history(3)), resolve=resolve)
    CompactionResult.model_validate(answer, strict=True)
    assert rules_of(answer) == {"c1": "unresolved_source_ref"}
    assert [decision["action"] for decision in answer["decisions"]] == ["preview", "keep", "preview"]
    assert answer["decisions"][1]["source_ref"] == "archive/c1"
    assert answer["stats"]["protected_by"] == {"unresolved_source_ref": 1}
    (warning,) = answer["stats"]["warnings"]
    assert "1 result" in warning
    assert "secret" not in warning
    assert answer["messages"][2] == history(3)[2]


async def test_only_what_may_be_replaced_is_looked_up_each_reference_once_and_beside_the_loop() -> None:
    asked: list[str] = []
    loop_thread = threading.get_ident()

    def resolve(reference: str) -> bool:
        assert threading.get_ident() != loop_thread
        asked.append(reference)
        return True

    refs = {"c0": "same", "c1": "same", "c2": "other", "c3": "needed"}
    model = always(0.0)
    request = request_for(history(4), source_refs=refs, protected_call_ids=["c3"])
    answer = await compact_with(None, request, model, resolve=resolve)
    assert sorted(asked) == ["other", "same"]
    assert [decision["action"] for decision in answer["decisions"]] == ["preview"] * 3 + ["keep"]
    asked.clear()
    await compact_with(None, request, always(0.9), resolve=resolve)
    assert asked == []


async def test_the_archives_own_references_are_not_looked_up_by_the_host() -> None:
    archive = memory_archive()
    asked: list[str] = []

    def resolve(reference: str) -> bool:
        asked.append(reference)
        return False

    request = archived_request(history(2), source_refs={"c0": "host/c0"})
    answer = await compact_with(archive, request, resolve=resolve)
    assert asked == ["host/c0"]
    assert rules_of(answer) == {"c0": "unresolved_source_ref"}
    assert claimed(archive) == ["c1"]
    assert check_recoverable(archive, SESSION, request, answer) == 1


async def _later(reference: str) -> bool:
    return bool(reference)


class Later:
    async def __call__(self, reference: str) -> bool:
        return bool(reference)


@pytest.mark.parametrize("resolve", [_later, Later(), "archive", 7, True])
def test_what_is_no_synchronous_function_is_a_type_error(resolve: Any) -> None:
    with pytest.raises(TypeError, match="resolve"):
        CompactContextStep(as_decision_model=always(0.0), resolve=resolve)
