"""Where results and problems go: standard output for the result alone, standard error for everything else."""

import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any, Literal, TypeAlias, cast

from reme_compact.cli.encoding import to_json
from reme_compact.cli.explanations import failure_text, warnings_beyond_failures
from reme_compact.cli.printable import cut, printable, shorten
from reme_compact.cli.readable_stats import readable_stats
from reme_compact.cli.streams import is_terminal, standard_output, write_error
from reme_compact.cli.usage import UsageError
from reme_compact.contract.errors import MissingExtraError, ReMeError

Output: TypeAlias = Literal["json", "report", "messages"]

OUTPUTS: Mapping[Output, str] = {
    "json": "the response as JSON, on one line; the default when standard output is not a terminal",
    "report": "a readable report; the default on a terminal",
    "messages": "the proposed messages alone, as JSON",
}

_FOR_PEOPLE = frozenset({"submit", "watch", "worker", "api_key", "recover"})
"""Commands that write text, not JSON, also where standard output is no terminal."""

_LONGEST_CODE = 60
_LONGEST_LINE = 1000
_MOST_LINES = 40


def errors_as_json(command: str, words: Sequence[str]) -> bool:
    """Tell whether a program waits for the result: JSON was asked for, or standard output is no terminal."""
    given = dict(word.removeprefix("--").partition("=")[::2] for word in words)
    if command == "start" and "job" not in given:
        return False
    if "output" in given:
        return given["output"] == "json"
    return command not in _FOR_PEOPLE and not is_terminal(sys.stdout)


def choose_output(requested: str | None) -> Output:
    """Decide what goes to standard output, before any work is done.

    Raises:
        UsageError: there is no such output.
        MissingExtraError: the report needs a package that is not installed.

    """
    if requested is not None and requested not in OUTPUTS:
        raise UsageError(f"output: must be {', '.join(OUTPUTS)}.")
    output = cast("Output", requested) if requested else "report" if is_terminal(sys.stdout) else "json"
    if output == "report" and find_spec("rich") is None:
        raise MissingExtraError("The report (or use output=json)", "service")
    return output


def show(response: Mapping[str, Any], output: Output, request: Mapping[str, Any] | None = None) -> None:
    """Write a response to standard output, and what was wrong on the way to standard error.

    Args:
        response: the standard response as plain data.
        output: what to write.
        request: what was sent; with it the report can advise on what was left out.

    Raises:
        BrokenPipeError: whoever reads standard output has stopped.
        OutputError: standard output cannot be written, for instance because a disk is full.

    """
    _show_troubles(response, output)
    with standard_output() as stream:
        if stream is None:
            return
        if output == "report":
            from reme_compact.cli.report import print_report  # noqa: PLC0415 - rich is optional, and slow

            print_report(response, stream, request=request)
        else:
            value = response["answer"]["messages"] if output == "messages" else response
            cast("Any", stream).buffer.write(to_json(value).encode() + b"\n")


def _show_troubles(response: Mapping[str, Any], output: Output) -> None:
    stats = readable_stats(response["answer"])
    for failure in stats.get("errors") or []:
        complain(f"decision model failed, its results are kept: {failure_text(failure)}")
    if output == "report" and is_terminal(sys.stdout) and is_terminal(sys.stderr):
        return  # the report on the same screen says it
    for warning in warnings_beyond_failures(stats):
        complain(f"warning: {printable(warning)}")


def show_error(error: ReMeError, *, as_json: bool) -> None:
    """Write an error to standard error: in sentences, or its fields as JSON on one line."""
    if as_json:
        write_error(to_json({**error.fields(), **error.extra()}))
        return
    fields = error.fields()
    lines = [cut(printable(line), _LONGEST_LINE) for line in _lines(error)[:_MOST_LINES]]
    # A message of several lines says itself what to do, and may end in a command that nothing may follow.
    again = " Trying again may help." if fields["retryable"] and len(lines) == 1 else ""
    complain(f"{shorten(fields['code'], _LONGEST_CODE)}: " + "\n  ".join(lines) + again)


def _lines(error: ReMeError) -> list[str]:
    """Split a message into lines; several problems get a line each."""
    problems = error.extra().get("problems")
    if not isinstance(problems, list) or len(problems) < 2 or not all(isinstance(one, Mapping) for one in problems):
        return error.message.splitlines()
    pairs = [(one.get("path"), one.get("message")) for one in problems]
    return ["The request is refused.", *(f"{path}: {message}" if path else f"{message}" for path, message in pairs)]


def complain(text: str) -> None:
    """Write a sentence, or lines, to standard error; whatever is in it is made printable."""
    write_error("\n".join(printable(line) for line in f"reme: {text}".split("\n")))
