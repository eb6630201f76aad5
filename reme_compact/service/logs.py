"""Send every log line of the service's process through structlog to standard error."""

import logging
import sys
from typing import Any, Literal, TextIO

import structlog
from structlog.typing import EventDict, Processor

from reme_compact.contract.exception_places import exception_places
from reme_compact.jobs.log_context import current_job_id

LogFormat = Literal["console", "json"]

_WATCHED_PATHS = frozenset({"/health", "/metrics"})
"""Asked for every few seconds; the access log has them at level debug, and when they fail."""

_NOT_HTTP = "Invalid HTTP request received."


def configure_logging(log_format: LogFormat, level: str, stream: TextIO | None = None) -> None:
    """Set up logging for a process that is a service and nothing else.

    Our own loggers and the access log are heard from the given level on, the web server and everything else from
    warnings on (or errors, if the level says so).

    Args:
        log_format: coloured text for people, or one JSON object per line.
        level: debug, info, warning or error.
        stream: where lines go; null: standard error, and if that is closed, nowhere.

    """
    handler = _handler(log_format, stream or sys.stderr)
    root = logging.getLogger()
    for other in list(root.handlers):
        root.removeHandler(other)
    root.addHandler(handler)
    ours = logging.getLevelNamesMapping()[level.upper()]
    if ours > logging.DEBUG:
        handler.addFilter(is_worth_a_line)
    root.setLevel(max(ours, logging.WARNING))
    for name in ("reme_compact", "uvicorn.access"):
        logging.getLogger(name).setLevel(ours)


def _handler(log_format: LogFormat, stream: TextIO | None) -> logging.Handler:
    if stream is None or stream.closed:
        return logging.NullHandler()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_formatter(log_format, colors=stream.isatty()))
    handler.addFilter(is_not_told_better)
    return handler


def _formatter(log_format: LogFormat, *, colors: bool) -> logging.Formatter:
    renderer: Processor = (
        structlog.processors.JSONRenderer()
        if log_format == "json"
        else structlog.dev.ConsoleRenderer(colors=colors, pad_event_to=0)
    )
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[
            structlog.stdlib.add_log_level,
            structlog.stdlib.add_logger_name,
            structlog.stdlib.ExtraAdder(),
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            name_access,
            name_job,
            place_exceptions,
        ],
        pass_foreign_args=True,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
    )


def name_access(_: Any, __: str, event: EventDict) -> EventDict:
    """Turn a line of the access log into fields, without the query, which may hold anything."""
    arguments = event.pop("positional_args", ())
    if event.get("logger") == "uvicorn.access":
        client, method, target, _version, status = arguments
        path = str(target).partition("?")[0]
        event.update(event="request", client=client, method=method, path=path, status=int(status))
    return event


def name_job(_: Any, __: str, event: EventDict) -> EventDict:
    """Say which job a line is about, if it was written while one was worked on."""
    job_id = current_job_id()
    if job_id is not None:
        event.setdefault("job_id", job_id)
    return event


def is_not_told_better(record: logging.LogRecord) -> bool:
    """Leave out what uvicorn says of bytes that are no HTTP: our line has the client, and does not come every time."""
    return record.name != "uvicorn.error" or record.msg != _NOT_HTTP


def is_worth_a_line(record: logging.LogRecord) -> bool:
    """Tell whether a record is more than a watcher's request that was answered."""
    if record.name != "uvicorn.access" or not isinstance(record.args, tuple) or len(record.args) != 5:
        return True
    _client, _method, target, _version, status = record.args
    return str(target).partition("?")[0] not in _WATCHED_PATHS or not isinstance(status, int) or status >= 400


def place_exceptions(_: Any, __: str, event: EventDict) -> EventDict:
    """Replace a traceback by the places it passed: the text of an exception may hold message content."""
    failure = event.pop("exc_info", None)
    if isinstance(failure, tuple):
        failure = failure[1]
    elif failure and not isinstance(failure, BaseException):
        failure = sys.exc_info()[1]
    if isinstance(failure, BaseException):
        event["exception"] = exception_places(failure)
    return event
