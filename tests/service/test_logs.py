"""What the service's process writes to its log, and what never gets there."""

import io
import json
import logging
import sys
from collections.abc import Iterator
from http import HTTPStatus

import anyio
import anyio.to_thread
import pytest

from reme_compact.jobs.log_context import logging_for_job
from reme_compact.service.logs import LogFormat, configure_logging


@pytest.fixture(autouse=True)
def _logging_restored() -> Iterator[None]:
    names = ("", "reme_compact", "uvicorn.access")
    loggers = [logging.getLogger(name) for name in names]
    before = [(logger.level, list(logger.handlers)) for logger in loggers]
    yield
    for logger, (level, handlers) in zip(loggers, before, strict=True):
        logger.setLevel(level)
        logger.handlers[:] = handlers


def lines_of(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def configured(log_format: LogFormat = "json", level: str = "info") -> io.StringIO:
    stream = io.StringIO()
    configure_logging(log_format, level, stream)
    return stream


def test_a_line_is_json_with_its_fields() -> None:
    stream = configured()
    logging.getLogger("reme_compact.decision").warning("decision request failed", extra={"code": "rate_limited"})
    [line] = lines_of(stream)
    assert str(line.pop("timestamp")).endswith("Z")
    assert line == {
        "event": "decision request failed",
        "level": "warning",
        "logger": "reme_compact.decision",
        "code": "rate_limited",
    }


def test_the_console_format_is_text_without_colours_unless_on_a_terminal() -> None:
    stream = configured("console")
    logging.getLogger("reme_compact.service").info("listening", extra={"address": "http://127.0.0.1:1"})
    assert "listening" in stream.getvalue()
    assert "address=http://127.0.0.1:1" in stream.getvalue()
    assert "\x1b" not in stream.getvalue()


@pytest.mark.parametrize("log_format", ["json", "console"])
def test_without_standard_error_lines_go_nowhere(log_format: LogFormat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    configure_logging(log_format, "info")
    logging.getLogger("reme_compact").warning("unheard")
    closed = io.StringIO()
    closed.close()
    configure_logging(log_format, "info", closed)
    logging.getLogger("reme_compact").warning("unheard")


def test_levels() -> None:
    stream = configured(level="info")
    logging.getLogger("reme_compact").debug("hidden")
    logging.getLogger("uvicorn.error").info("hidden")
    logging.getLogger("httpx").info("hidden")
    logging.getLogger("uvicorn.error").warning("shown")
    logging.getLogger("reme_compact").info("shown")
    assert [line["event"] for line in lines_of(stream)] == ["shown", "shown"]


def test_level_error_silences_warnings_of_others_too() -> None:
    stream = configured(level="error")
    logging.getLogger("uvicorn.error").warning("hidden")
    assert stream.getvalue() == ""


def test_the_access_log_has_no_query() -> None:
    stream = configured()
    arguments = ("127.0.0.1:5", "GET", "/ready?token=secret", "1.1", 200)
    logging.getLogger("uvicorn.access").info('%s - "%s %s HTTP/%s" %d', *arguments)
    assert "secret" not in stream.getvalue()
    [line] = lines_of(stream)
    assert (line["event"], line["method"], line["path"], line["status"]) == ("request", "GET", "/ready", 200)


@pytest.mark.parametrize("log_format", ["json", "console"])
def test_an_exception_is_told_by_its_place_and_not_by_its_text(log_format: LogFormat) -> None:
    stream = configured(log_format)
    try:
        try:
            raise ValueError("secret one")
        except ValueError as error:
            raise ExceptionGroup("secret two", [error, KeyError("secret three")]) from error
    except ExceptionGroup:
        logging.getLogger("uvicorn.error").exception("failed")
        logging.getLogger("uvicorn.error").error("failed", exc_info=sys.exc_info()[1])
    text = stream.getvalue()
    assert "secret" not in text
    assert text.count("ExceptionGroup[ValueError at test_logs.py:") == 2
    assert "raised from ValueError at test_logs.py:" in text


def test_a_message_with_a_lone_surrogate_is_written() -> None:
    stream = configured()
    logging.getLogger("reme_compact").warning("odd \ud800")
    [line] = lines_of(stream)
    assert line["event"] == "odd \ud800"


def access(stream: io.StringIO, target: str, status: int) -> list[dict[str, object]]:
    stream.truncate(0)
    stream.seek(0)
    arguments = ("127.0.0.1:5", "GET", target, "1.1", status)
    logging.getLogger("uvicorn.access").info('%s - "%s %s HTTP/%s" %d', *arguments)
    return lines_of(stream)


def test_watchers_are_not_logged_unless_their_requests_fail_or_everything_is_wanted() -> None:
    stream = configured()
    for target in ("/health", "/metrics", "/health?x=1"):
        assert access(stream, target, 200) == []
        assert len(access(stream, target, 401)) == 1
    assert len(access(stream, "/healthy", 200)) == 1
    assert len(access(configured(level="debug"), "/health", 200)) == 1


def test_a_line_written_for_a_job_names_it() -> None:
    stream = configured()
    logger = logging.getLogger("reme_compact.jobs")
    with logging_for_job("job-1"):
        logger.warning("one")
        logger.warning("two", extra={"job_id": "job-2"})
    logger.warning("three")
    assert [line.get("job_id") for line in lines_of(stream)] == ["job-1", "job-2", None]


@pytest.mark.anyio
async def test_tasks_and_threads_of_a_job_name_it_and_those_of_others_do_not() -> None:
    stream = configured()
    logger = logging.getLogger("reme_compact.jobs")

    async def work(job_id: str) -> None:
        with logging_for_job(job_id):
            await anyio.to_thread.run_sync(logger.warning, job_id)

    async with anyio.create_task_group() as tasks:
        for number in range(5):
            tasks.start_soon(work, f"job-{number}")
    lines = lines_of(stream)
    assert len(lines) == 5
    assert all(line["event"] == line["job_id"] for line in lines)


def test_a_status_is_a_number_in_either_format() -> None:
    for log_format in ("console", "json"):
        stream = configured(log_format)
        arguments = ("127.0.0.1:1", "POST", "/jobs/compact_context", "1.1", HTTPStatus.ACCEPTED)
        logging.getLogger("uvicorn.access").info('%s - "%s %s HTTP/%s" %d', *arguments)
        assert "HTTPStatus" not in stream.getvalue()
        assert "202" in stream.getvalue()


def test_what_is_no_http_is_told_by_our_line_only() -> None:
    stream = configured()
    logging.getLogger("uvicorn.error").warning("Invalid HTTP request received.")
    logging.getLogger("uvicorn.error").warning("Something else.")
    assert [line["event"] for line in lines_of(stream)] == ["Something else."]
