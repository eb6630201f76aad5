"""Queries: read, checked and described in the words of every other message."""

import re
from typing import Annotated, Any, TypeVar, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, WithJsonSchema
from starlette.requests import Request

from reme_compact.archive.pieces import DEFAULT_PIECE_CHARS, MOST_PIECE_CHARS
from reme_compact.contract.errors import FieldProblem, InvalidRequestError
from reme_compact.contract.job import JobStatus
from reme_compact.contract.validation import problems_of, short

_STATUSES: tuple[str, ...] = get_args(JobStatus)
_DIGITS = re.compile(r"-?[0-9]{1,15}")

_Query = TypeVar("_Query", bound=BaseModel)


def _whole(text: object) -> object:
    if isinstance(text, str) and not _DIGITS.fullmatch(text):
        raise ValueError("must be a whole number")
    return text


def _one_of_the_statuses(text: object) -> object:
    if text not in _STATUSES:
        raise ValueError(f"must be {', '.join(_STATUSES[:-1])} or {_STATUSES[-1]}")
    return text


class PageQuery(BaseModel):
    """Which jobs to list."""

    model_config = ConfigDict(extra="forbid")

    status: Annotated[
        JobStatus | None,
        BeforeValidator(_one_of_the_statuses),
        WithJsonSchema({"type": "string", "enum": [*_STATUSES]}),
    ] = Field(default=None, description="Only jobs with this status.")
    cursor: str = Field(default="", description="`next_cursor` of the page before; blank: the newest jobs.")
    limit: Annotated[int, BeforeValidator(_whole)] = Field(default=20, ge=1, le=100, description="Jobs at most.")


class PieceQuery(BaseModel):
    """Which piece of an original to read."""

    model_config = ConfigDict(extra="forbid")

    offset: Annotated[int, BeforeValidator(_whole)] = Field(
        default=0,
        ge=0,
        description="Where the piece begins, in characters (code points): 0, or `next_offset` of the piece before.",
    )
    max_chars: Annotated[int, BeforeValidator(_whole)] = Field(
        default=DEFAULT_PIECE_CHARS, ge=1, le=MOST_PIECE_CHARS, description="Characters at most."
    )


class SubmissionQuery(BaseModel):
    """How long a job may wait."""

    model_config = ConfigDict(extra="forbid")

    start_within_seconds: float


def submission_query(longest: float) -> type[SubmissionQuery]:
    """Describe the query of a new job where none may wait longer than so many seconds."""

    class Limited(SubmissionQuery):
        start_within_seconds: float = Field(
            default=longest, gt=0, le=longest, description="A job that was not started by then ends as `timed_out`."
        )

    return Limited


def read_query(request: Request, model: type[_Query]) -> _Query:
    """Read a request's query; a blank value is the absence of one.

    Raises:
        InvalidRequestError: it holds something unknown, wrong, or twice.
    """
    given = [(name, value) for name, value in request.query_params.multi_items() if value.strip()]
    given += [(name, value) for name, value in request.query_params.multi_items() if name not in model.model_fields]
    names = [name for name, _ in given]
    twice = sorted({name for name in names if names.count(name) > 1 and name in model.model_fields})
    if twice:
        raise InvalidRequestError([query_problem(short(name), "must be given only once") for name in twice])
    try:
        return model.model_validate(dict(given))
    except ValidationError as error:
        problems = problems_of(error, model)
        raise InvalidRequestError([query_problem(found["path"], found["message"]) for found in problems]) from None


def query_parameters(model: type[BaseModel]) -> list[dict[str, Any]]:
    """Describe a query for the OpenAPI document."""
    return [
        {
            "name": name,
            "in": "query",
            "required": False,
            "allowEmptyValue": True,
            "description": schema.pop("description"),
            "schema": schema,
        }
        for name, schema in _without_nulls(model.model_json_schema()["properties"]).items()
    ]


def _without_nulls(properties: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Leave out defaults that mean the absence of a value, and titles, which repeat the names."""
    return {
        name: {key: value for key, value in schema.items() if key != "title" and value is not None}
        for name, schema in properties.items()
    }


def query_problem(name: str, message: str) -> FieldProblem:
    """Say what is wrong with a key of a query; blank: with the query."""
    return {"path": f"query.{name}" if name else "query", "message": message}
