"""Problem documents of a service, as they came and as the typed errors that they stand for."""

from collections.abc import Iterator, Mapping
from typing import Any

from reme_compact.client.errors import ServiceError
from reme_compact.contract import errors
from reme_compact.contract.errors import (
    DecisionModelError,
    ErrorFields,
    FieldProblem,
    InvalidRequestError,
    ReMeError,
    ReportedError,
)

QUERY = "query."
"""What the service writes before the keys of a query; a caller of ours gave arguments."""


class ReportedProblemError(ReportedError):
    """A problem document of the service, with the single problems it names.

    Attributes:
        status: HTTP status of the reply that it was; null if it came as an event.

    """

    def __init__(self, document: Mapping[str, Any], status: int | None = None) -> None:
        super().__init__(
            ErrorFields(
                code=document["code"],
                error=document["error"],
                message=document["message"],
                retryable=document["retryable"],
            )
        )
        self._document = document
        self.status = status

    def extra(self) -> dict[str, Any]:
        """Return the single problems, if the service named any."""
        problems = self._document.get("problems")
        return {"problems": problems} if problems else {}

    def advised(self, advice: str) -> "ReportedProblemError":
        """Return the same problem with lines of advice below its message."""
        return ReportedProblemError({**self._document, "message": f"{self.message}\n{advice}"}, self.status)

    def without_prefix(self, prefix: str) -> "ReportedProblemError":
        """Return the same problem without what stands before some of the keys that it names."""
        problems, message = self._document.get("problems"), self.message
        if not isinstance(problems, list) or not all(isinstance(one, Mapping) for one in problems):
            return self
        bare = [{**one, "path": str(one.get("path", "")).removeprefix(prefix)} for one in problems]
        for before, after in zip(problems, bare, strict=True):
            message = message.replace(f"{before.get('path')}: ", f"{after['path']}: ")
        return ReportedProblemError({**self._document, "message": message, "problems": bare}, self.status)


def is_problem(value: Any) -> bool:
    """Tell whether plain data holds the four fields of a failure."""
    if not isinstance(value, dict):
        return False
    texts = all(isinstance(value.get(name), str) for name in ("code", "error", "message"))
    return texts and isinstance(value.get("retryable"), bool)


def typed(problem: ReportedProblemError) -> ReMeError:
    """Return the error of the contract that a problem stands for, told by its code; else a `ServiceError`."""
    problem = problem.without_prefix(QUERY)
    kind = _KINDS.get(problem.code)
    if kind is None:
        return ServiceError(problem.fields())
    error = kind.__new__(kind)
    # The constructors of some kinds write their messages themselves; this one is written already.
    ReMeError.__init__(error, problem.message)
    error.retryable = problem.retryable
    if isinstance(error, InvalidRequestError):
        error.problems = list(_field_problems(problem))
    if isinstance(error, DecisionModelError):
        error.fatal = not problem.retryable
    return error


def _field_problems(problem: ReportedProblemError) -> Iterator[FieldProblem]:
    found = problem.extra().get("problems")
    for one in found if isinstance(found, list) else []:
        if isinstance(one, Mapping):
            yield FieldProblem(path=str(one.get("path", "")), message=str(one.get("message", "")))


def _kinds() -> dict[str, type[ReMeError]]:
    kinds = (kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, ReMeError))
    return {kind.code: kind for kind in kinds if kind.code != ReMeError.code}


_KINDS = _kinds()
