import json
import shlex
from collections.abc import Callable, Mapping

import pytest

from reme_compact.cli.archive import KEYS as ARCHIVE_COMMAND_KEYS
from reme_compact.cli.archive_help import archive_help, recover_help
from reme_compact.cli.cancel import CANCEL_KEYS
from reme_compact.cli.exit_codes import MEANINGS, ExitCode
from reme_compact.cli.help import compact_context_help, main_help, paste_example, start_help
from reme_compact.cli.job_help import cancel_help, jobs_help, result_help, submit_help, watch_help, worker_help
from reme_compact.cli.jobs import JOBS_KEYS
from reme_compact.cli.main import _COMMANDS, _HELP, main
from reme_compact.cli.recover import RECOVER_KEYS
from reme_compact.cli.result import RESULT_KEYS
from reme_compact.cli.start import START_KEYS
from reme_compact.cli.submit import SUBMIT_KEYS
from reme_compact.cli.watch import WATCH_KEYS
from reme_compact.cli.worker import WORKER_KEYS
from reme_compact.contract.options import CompactionOptions
from reme_compact.contract.request import CompactionRequest
from reme_compact.presets.schema import ServiceSettings


def test_every_key_is_listed_with_type_and_default() -> None:
    text = compact_context_help()
    for name in CompactionRequest.model_fields:
        assert f"\n  {name}  (" in text
    for name in CompactionOptions.model_fields:
        assert f"\n  options.{name}  (" in text
    assert "options.drop_threshold  (number at least 0 and at most 1, default: 0.1)" in text
    assert "options.max_output_tokens  (whole number above 0, or null, default: null)" in text
    assert "messages  (JSON list, required)" in text


def test_every_meaning_is_there() -> None:
    words = " ".join(compact_context_help().split())
    for info in [*CompactionRequest.model_fields.values(), *CompactionOptions.model_fields.values()]:
        assert " ".join((info.description or "").split()) in words


@pytest.mark.parametrize("key", ["host", "port", "config", "timeout", "output", "request"])
def test_every_key_of_the_call_is_there(key: str) -> None:
    assert f"\n  {key}  " in compact_context_help()


def test_every_setting_of_the_service_is_listed() -> None:
    text = start_help()
    for name in ServiceSettings.model_fields:
        assert f"\n  service.{name}  (" in text
    assert "job" in text


@pytest.mark.parametrize("text", [main_help(), *(text() for text in _HELP.values())], ids=["main", *_HELP])
def test_every_exit_code_is_explained(text: str) -> None:
    assert set(MEANINGS) == set(ExitCode)
    for code, meaning in MEANINGS.items():
        assert f"  {int(code)}" in text
        assert meaning in " ".join(text.split())


def test_the_example_is_the_example_of_the_contract() -> None:
    command, job, *words = shlex.split(paste_example().replace("\\\n", " "))
    assert (command, job) == ("reme", "compact_context")
    given = dict(word.split("=", 1) for word in words)
    assert {
        name: json.loads(value) if value[0] in "[{" else value for name, value in given.items()
    } == CompactionRequest.example


@pytest.mark.parametrize(
    ("text", "command"),
    [
        (main_help(), "reme start job=compact_context"),
        (compact_context_help(), "reme compact_context"),
        (start_help(), "reme start job=compact_context"),
    ],
    ids=["main", "call", "start"],
)
def test_below_the_example_stands_what_it_shows_and_how_to_see_more(text: str, command: str) -> None:
    _, _, below = text.partition("Now look at the payment code")
    first, second = below.split("\n\n")[1:3]
    assert "The one result in it is too short to get shorter, so it stays, and the report says so." in first
    assert "request=@FILE" in first
    assert second == f"  {command} request=@examples/incident_request.json"


def test_the_help_tells_a_command_line_from_a_request() -> None:
    usage, failure = MEANINGS[ExitCode.USAGE], MEANINGS[ExitCode.FAILURE]
    assert all(words in usage for words in ("unknown key", "not of its key's type", "missing file", "nothing was sent"))
    assert "the request was refused" in failure


def test_lines_fit_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    descriptions = [line for line in compact_context_help().splitlines() if line.startswith("      ")]
    assert max(map(len, descriptions)) <= 112


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["--help"], main_help),
        (["-h"], main_help),
        (["help"], main_help),
        (["help", "start"], start_help),
        (["start", "--help"], start_help),
        (["compact_context", "--help"], compact_context_help),
        (["compact_context", "goal=x", "-h"], compact_context_help),
        (["help", "submit"], submit_help),
        (["submit", "compact_context", "--help"], submit_help),
        (["jobs", "-h"], jobs_help),
        (["help", "watch"], watch_help),
        (["result", "--help"], result_help),
        (["cancel", "--help"], cancel_help),
        (["worker", "role=jobs", "--help"], worker_help),
        (["help", "recover"], recover_help),
        (["recover", "all=true", "-h"], recover_help),
        (["help", "archive"], archive_help),
        (["archive", "gc", "--help"], archive_help),
    ],
)
def test_help_is_found_in_every_usual_way(
    words: list[str], shown: Callable[[], str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == ExitCode.PROPOSAL
    assert capsys.readouterr().out.strip() == shown().strip()


def test_every_command_is_listed_and_has_help() -> None:
    assert set(_HELP) == set(_COMMANDS)
    usage = main_help()
    for command in _COMMANDS:
        assert f"\n  reme {command} " in usage
        assert f"Usage: reme {command} " in _HELP[command]()


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        (start_help(), START_KEYS),
        (submit_help(), SUBMIT_KEYS),
        (jobs_help(), JOBS_KEYS),
        (watch_help(), WATCH_KEYS),
        (result_help(), RESULT_KEYS),
        (cancel_help(), CANCEL_KEYS),
        (worker_help(), WORKER_KEYS),
        (recover_help(), RECOVER_KEYS),
        (archive_help(), ARCHIVE_COMMAND_KEYS),
    ],
    ids=["start", "submit", "jobs", "watch", "result", "cancel", "worker", "recover", "archive"],
)
def test_every_key_of_a_command_is_explained(text: str, keys: Mapping[str, str]) -> None:
    words = " ".join(text.split())
    for key, meaning in keys.items():
        assert f"\n  {key} " in text
        assert meaning in words


def test_the_help_says_where_the_api_key_comes_from() -> None:
    for text in (submit_help(), jobs_help(), watch_help(), result_help(), cancel_help(), recover_help()):
        assert "REME_API_KEY" in text


@pytest.mark.parametrize("command", [*_COMMANDS, "help"])
def test_a_typo_in_a_command_is_recognised(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([f"{command}x"]) == ExitCode.USAGE
    assert f"did you mean '{command}'?" in capsys.readouterr().err
