"""Every failure is one of ours and says the same four things wherever it is met."""

from collections.abc import Iterator

import pytest

from reme_compact.contract import errors
from reme_compact.contract.errors import (
    ConfigurationError,
    DecisionModelError,
    InvalidRequestError,
    MissingExtraError,
    ReMeError,
    ReportedError,
)


def _every_kind(kind: type[ReMeError] = ReMeError) -> Iterator[type[ReMeError]]:
    yield kind
    for child in kind.__subclasses__():
        if child.__module__ == errors.__name__:
            yield from _every_kind(child)


def _example(kind: type[ReMeError]) -> ReMeError:
    if issubclass(kind, InvalidRequestError):
        return kind([{"path": "goal", "message": "must be text"}])
    if issubclass(kind, MissingExtraError):
        return kind("The service", "service")
    if issubclass(kind, ReportedError):
        return kind({"code": "too_busy", "error": "TooBusyError", "message": "full", "retryable": True})
    return kind("what is wrong")


@pytest.mark.parametrize("kind", list(_every_kind()))
def test_the_four_fields_are_complete_and_agree_with_the_attributes(kind: type[ReMeError]) -> None:
    error = _example(kind)
    assert error.fields() == {
        "code": error.code,
        "error": error.error,
        "message": error.message,
        "retryable": error.retryable,
    }
    assert error.message
    assert str(error) == error.message
    assert error.code == error.code.lower()
    assert isinstance(error.retryable, bool)


def test_every_kind_has_its_own_code_and_is_named_after_its_class() -> None:
    kinds = [kind for kind in _every_kind() if kind is not ReportedError]
    examples = [_example(kind) for kind in kinds]
    assert len({error.code for error in examples}) == len(kinds)
    assert [error.error for error in examples] == [kind.__name__ for kind in kinds]


def test_an_error_that_arrived_reads_as_it_did_where_it_happened() -> None:
    error = _example(ReportedError)
    assert (error.code, error.error, error.message, error.retryable) == ("too_busy", "TooBusyError", "full", True)


def test_an_invalid_request_names_every_problem() -> None:
    error = InvalidRequestError(
        [{"path": "a.b", "message": "is required"}, {"path": "", "message": "must be an object"}]
    )
    assert error.message == "a.b: is required; must be an object"
    assert error.extra() == {
        "problems": [{"path": "a.b", "message": "is required"}, {"path": "", "message": "must be an object"}]
    }
    assert error.retryable is False


def test_a_missing_extra_names_the_command_that_installs_it() -> None:
    error = MissingExtraError("The AgentScope backend", "decision")
    assert isinstance(error, ConfigurationError)
    assert "pip install 'reme-compact[decision]'" in error.message
    assert "The AgentScope backend" in error.message


@pytest.mark.parametrize("fatal", [True, False])
def test_asking_again_helps_unless_a_decision_failure_is_fatal(fatal: bool) -> None:
    error = DecisionModelError("refused", code="authentication_failed", fatal=fatal)
    assert error.code == error.fields()["code"] == "authentication_failed"
    assert error.retryable is error.fields()["retryable"] is not fatal


def test_what_only_one_error_knows_is_extra() -> None:
    assert ReMeError("x").extra() == {}
