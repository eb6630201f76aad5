"""Entry point of `reme`: find the command, run it, turn every failure into a sentence and an exit code.

Nothing heavy is imported here: commands are modules that are loaded when they are called.
"""

import difflib
import sys
from collections.abc import Sequence
from importlib import import_module

from reme_compact.cli.api_key_help import api_key_help
from reme_compact.cli.archive_help import archive_help, recover_help
from reme_compact.cli.exit_codes import ExitCode
from reme_compact.cli.help import compact_context_help, main_help, start_help
from reme_compact.cli.job_help import (
    cancel_help,
    jobs_help,
    result_help,
    submit_help,
    watch_help,
    worker_help,
)
from reme_compact.cli.output import complain, errors_as_json, show_error
from reme_compact.cli.printable import shorten
from reme_compact.cli.streams import OutputError, occupy_closed_streams, settle_streams, standard_output, write_error
from reme_compact.cli.usage import UsageError
from reme_compact.contract.errors import ReMeError, ServiceUnavailableError

_COMMANDS = {
    "start": "reme_compact.cli.start",
    "compact_context": "reme_compact.cli.compact_context",
    "submit": "reme_compact.cli.submit",
    "jobs": "reme_compact.cli.jobs",
    "watch": "reme_compact.cli.watch",
    "result": "reme_compact.cli.result",
    "cancel": "reme_compact.cli.cancel",
    "recover": "reme_compact.cli.recover",
    "archive": "reme_compact.cli.archive",
    "worker": "reme_compact.cli.worker",
    "api_key": "reme_compact.cli.api_key",
}
_HELP = {
    "start": start_help,
    "compact_context": compact_context_help,
    "submit": submit_help,
    "jobs": jobs_help,
    "watch": watch_help,
    "result": result_help,
    "cancel": cancel_help,
    "recover": recover_help,
    "archive": archive_help,
    "worker": worker_help,
    "api_key": api_key_help,
}
_HELP_WORDS = frozenset({"--help", "-h"})


def main(words: Sequence[str] | None = None) -> int:
    """Run the command that the words name (null: those of the process) and return its exit code."""
    occupy_closed_streams()
    try:
        return _dispatch(sys.argv[1:] if words is None else words)
    except BrokenPipeError:
        return ExitCode.PROPOSAL
    except OutputError as error:
        show_error(error, as_json=False)
        return ExitCode.FAILURE
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    finally:
        settle_streams()


def _dispatch(words: Sequence[str]) -> int:
    if not words:
        return _say(main_help(), ExitCode.USAGE)
    command, *arguments = words
    if command in _HELP_WORDS or command == "help":
        return _help(arguments)
    if command == "--version":
        return _say(f"reme {_version()}")
    if command not in _COMMANDS:
        complain(_unknown_command(command))
        return ExitCode.USAGE
    if _HELP_WORDS.intersection(arguments):
        return _help([command])
    return _run(command, arguments)


def _unknown_command(word: str) -> str:
    shown = shorten(word.partition("=")[0], 40)  # never a value, which can be long and private
    if word.startswith("-"):
        return f"there is no flag '{shown}' here; choose --help or --version"
    if "=" in word:
        return f"a command is missing before '{shown}=...'; choose one of {', '.join(_COMMANDS)}"
    from reme_compact.cli.reference_words import is_reference  # noqa: PLC0415 - only for a mistake
    from reme_compact.cli.suggestions import looks_like_file, meant_by_file  # noqa: PLC0415 - only for a mistake

    if is_reference(word):
        return f"a command is missing before the reference; did you mean this?\n  reme recover {word}"
    name = word.removeprefix("@")
    if looks_like_file(name):
        meant = meant_by_file(name)
        command = "start" if meant.startswith("config=") else "compact_context"
        return f"'{shown}' is not a command; did you mean this?\n  reme {command} {meant}"
    return f"'{shown}' is not a command; {_nearest([*_COMMANDS, 'help'], word)}"


def _run(command: str, arguments: Sequence[str]) -> int:
    try:
        exit_code: ExitCode = import_module(_COMMANDS[command]).run(arguments)
    except UsageError as error:
        show_error(error, as_json=False)
        complain(f"all keys are explained by: reme {command} --help")
        return ExitCode.USAGE
    except ReMeError as error:
        show_error(error, as_json=errors_as_json(command, arguments))
        return ExitCode.UNREACHABLE if isinstance(error, ServiceUnavailableError) else ExitCode.FAILURE
    return exit_code


def _help(topics: Sequence[str]) -> int:
    topic = topics[0] if topics else ""
    if topic and topic not in _HELP:
        complain(f"there is no help about '{shorten(topic, 40)}'; {_nearest(list(_HELP), topic)}")
        return ExitCode.USAGE
    return _say(_HELP.get(topic, main_help)())


def _nearest(known: list[str], word: str) -> str:
    close = difflib.get_close_matches(word, known, n=1)
    return f"did you mean '{close[0]}'?" if close else f"choose one of {', '.join(known)}"


def _version() -> str:
    from importlib.metadata import version  # noqa: PLC0415 - slow, and only needed here

    return version("reme-compact")


def _say(text: str, exit_code: ExitCode = ExitCode.PROPOSAL) -> int:
    """Print help where it belongs: standard output when it was asked for, else standard error."""
    if exit_code != ExitCode.PROPOSAL:
        write_error(text)
        return exit_code
    with standard_output() as stream:
        print(text, file=stream)
    return exit_code


if __name__ == "__main__":
    sys.exit(main())
