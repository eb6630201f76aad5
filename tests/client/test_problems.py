"""Whatever error of the contract a service tells of, a caller catches that error."""

import inspect
from typing import Any

import pytest

from reme_compact.client import ServiceError
from reme_compact.client.problems import ReportedProblemError, is_problem, typed
from reme_compact.contract import errors
from reme_compact.contract.errors import InvalidRequestError, ReMeError, ReportedError

KINDS = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, ReMeError) and kind not in (ReMeError, ReportedError)
]


def document(code: str, *, retryable: bool = False, **more: Any) -> dict[str, Any]:
    return {"code": code, "error": "SomeError", "message": "So it is.", "retryable": retryable, **more}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("retryable", [True, False])
def test_every_kind_comes_back_as_itself(kind: type[ReMeError], retryable: bool) -> None:
    error = typed(ReportedProblemError(document(kind.code, retryable=retryable)))
    assert type(error) is kind
    assert error.fields() == {
        "code": kind.code,
        "error": kind.__name__,
        "message": "So it is.",
        "retryable": retryable,
    }
    assert str(error) == "So it is."


def test_codes_name_their_kinds() -> None:
    assert len({kind.code for kind in KINDS}) == len(KINDS)


@pytest.mark.parametrize("code", ["reme_error", "newer", ""])
def test_other_codes_are_a_service_error(code: str) -> None:
    error = typed(ReportedProblemError(document(code)))
    assert type(error) is ServiceError
    assert error.fields() == document(code)


def test_single_problems_are_kept_under_the_names_of_arguments() -> None:
    found = [{"path": "query.limit", "message": "is wrong"}, {"path": "goal", "message": "is wrong, too", "more": 1}]
    told = document("invalid_request", problems=found) | {"message": "query.limit: is wrong; goal: is wrong, too"}
    error = typed(ReportedProblemError(told))
    assert isinstance(error, InvalidRequestError)
    assert error.message == "limit: is wrong; goal: is wrong, too"
    assert error.extra() == {
        "problems": [{"path": "limit", "message": "is wrong"}, {"path": "goal", "message": "is wrong, too"}]
    }


@pytest.mark.parametrize("problems", [None, 3, [3], [{}], {"a": 1}])
def test_odd_problems_do_no_harm(problems: Any) -> None:
    error = typed(ReportedProblemError(document("invalid_request", problems=problems)))
    assert isinstance(error, InvalidRequestError)


@pytest.mark.parametrize("value", [None, [], {}, {**document("x"), "retryable": 1}, {**document("x"), "code": None}])
def test_what_is_no_problem(value: Any) -> None:
    assert not is_problem(value)
