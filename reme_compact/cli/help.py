"""What `reme --help` says. The keys and their meanings come from the models, so that they cannot disagree.

The models are imported by the texts that list keys, not by the main help, which is there at once.
"""

import json
import shutil
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from reme_compact.cli.exit_codes import MEANINGS

if TYPE_CHECKING:
    from reme_compact.cli.request_keys import Key

MAIN = """\
reme keeps an LLM agent's context small without losing what it needs. It reads a history of messages and
proposes the same history, smaller: old tool results that a decision model judges no longer needed become a
short excerpt and a reference to the original. Your history is never changed.

Usage:
  reme start [config=PRESET] [a.b=value ...]          run the service (Ctrl-C stops it)
  reme compact_context key=value ...                  ask a running service for a proposal
  reme start job=compact_context key=value ...        make one proposal without a service
  reme help [start | compact_context]                 all keys, with types, defaults and meanings
  reme --version

Try it. This works as it stands; once `reme start` runs in another terminal, so does the same without "start job=":

{example}

{what_it_shows}

Exit codes:
{exit_codes}"""

COMPACT_CONTEXT = """\
Usage: reme compact_context key=value ...

Asks a running service (reme start config=decision_compaction) for a smaller history. The same keys make one
proposal without a service: reme start config=decision_compaction job=compact_context key=value ...

Example:

{example}

{what_it_shows}

{grammar}

Keys of the request:
{keys}

Keys of the call:
{call_keys}

Output: on a terminal a report, otherwise the response as JSON on one line of standard output, and nothing else
there. Warnings, and failures of the decision model, go to standard error.

Exit codes:
{exit_codes}"""

START = """\
Usage: reme start [config=PRESET] [section.key=value ...]
       reme start [config=PRESET] job=compact_context key=value ... [section.key=value ...]

The first form runs the service until Ctrl-C. The second makes one proposal without a service, with the request
keys of `reme compact_context --help` and the same output.

Examples:

  reme start config=decision_compaction service.port=9000
  reme start config=./my_preset.yaml components.as_decision_model.compaction.backend=agentscope

{example}

{what_it_shows}

Keys:
{start_keys}

Sections of the preset; what is given here wins over the preset's file, `.env` and the environment:
{sections}

Exit codes:
{exit_codes}"""

WHAT_IT_SHOWS = """\
The one result in it is too short to get shorter, so it stays, and the report says so. To see results replaced, give
a longer history with request=@FILE; in a checkout of the source there is one:

  {command} request=@examples/incident_request.json"""

GRAMMAR = r"""
How values are written:
  key=value         by the key's type: text stays as it is (goal=123 is the text 123), numbers and null are
                    read where a number is meant, lists and objects are JSON
  --key=value       the same
  options.KEY=value one option; source_refs.CALL_ID=ref one reference. They change single entries of
                    options= or source_refs=
  key=@FILE         the content of a file: JSON for lists and objects, the text itself for text
  key=-             standard input, for one key
  key=@@text        text that starts with @
  key=\-            the text - (key=\\- is the text \-)
  request=@FILE     the whole request as one JSON object; other keys replace what it says
  Each key once. Empty text counts as absent.""".strip("\n")


_COMMAND = "reme compact_context"
_LOCAL_COMMAND = "reme start job=compact_context"


def main_help() -> str:
    """Return the help of the whole command."""
    return MAIN.format(
        example=_local(paste_example()),
        what_it_shows=WHAT_IT_SHOWS.format(command=_LOCAL_COMMAND),
        exit_codes=_exit_codes(),
    )


def compact_context_help() -> str:
    """Return the help of `reme compact_context`, with every key of a request."""
    from reme_compact.cli.compact_context import CALL_KEYS  # noqa: PLC0415
    from reme_compact.cli.request_keys import request_keys  # noqa: PLC0415
    from reme_compact.cli.request_values import WHOLE_REQUEST  # noqa: PLC0415

    return COMPACT_CONTEXT.format(
        example=paste_example(),
        what_it_shows=WHAT_IT_SHOWS.format(command=_COMMAND),
        grammar=GRAMMAR,
        keys="\n".join(_describe([*request_keys().values(), WHOLE_REQUEST])),
        call_keys=_pairs(CALL_KEYS),
        exit_codes=_exit_codes(),
    )


def start_help() -> str:
    """Return the help of `reme start`, with the settings of a preset."""
    from reme_compact.cli.request_keys import keys_of  # noqa: PLC0415
    from reme_compact.cli.start import START_KEYS  # noqa: PLC0415
    from reme_compact.presets.schema import Preset  # noqa: PLC0415

    return START.format(
        example=_local(paste_example()),
        what_it_shows=WHAT_IT_SHOWS.format(command=_LOCAL_COMMAND),
        start_keys=_pairs(START_KEYS),
        sections="\n".join(_describe(keys_of(Preset).values())),
        exit_codes=_exit_codes(),
    )


def paste_example() -> str:
    """Return a call that works when pasted into a POSIX shell."""
    return "\n".join(
        (
            f"  {_COMMAND} goal='Fix payment retries' next_action='Review the retry implementation' \\",
            """    eligible_tool_names='["search_code"]' source_refs='{"c1":"archive/demo/c1"}' \\""",
            """    options='{"preserve_recent_messages":1}' \\""",
            f"    messages='{json.dumps(_example_messages(), separators=(',', ':'))}'",
        )
    )


def _example_messages() -> list[dict[str, object]]:
    def text(role: str, words: str) -> dict[str, object]:
        return {"role": role, "content": [{"type": "text", "text": words}]}

    call = {"id": "c1", "name": "search_code"}
    pair = [
        {"type": "tool_call", **call, "input": '{"path":"icons"}', "state": "finished"},
        {"type": "tool_result", **call, "output": ", ".join(_ICONS), "state": "success"},
    ]
    return [
        text("user", "Retries charge twice, fix them"),
        {"role": "assistant", "content": pair},
        text("user", "Now look at the payment code"),
    ]


_ICONS = ("icons/cart.svg", "icons/user.svg")


def _local(example: str) -> str:
    return example.replace(_COMMAND, _LOCAL_COMMAND, 1)


def _exit_codes() -> str:
    return _pairs({str(int(code)): meaning for code, meaning in MEANINGS.items()})


def _pairs(meanings: Mapping[str, str]) -> str:
    width = max(map(len, meanings))
    return "\n".join(
        textwrap.fill(
            f"{key:<{width}}  {meaning}",
            width=_width(),
            initial_indent="  ",
            subsequent_indent=" " * (width + 4),
            break_on_hyphens=False,
        )
        for key, meaning in meanings.items()
    )


def _describe(keys: "Iterable[Key]", prefix: str = "") -> Iterator[str]:
    for key in keys:
        yield f"  {prefix}{key.name}  ({', '.join(_facts(key))})"
        if key.description:
            yield textwrap.fill(
                key.description,
                width=_width(),
                initial_indent="      ",
                subsequent_indent="      ",
                break_on_hyphens=False,
            )
        yield from _describe(key.children.values(), f"{prefix}{key.name}.")


def _facts(key: "Key") -> Sequence[str]:
    if key.required:
        return key.type_words, "required"
    if key.children:
        return (key.type_words,)
    if key.default in (None, [], {}):
        return key.type_words, "default: null" if key.nullable else "default: none"
    return key.type_words, f"default: {key.default:g}" if isinstance(key.default, float) else f"default: {key.default}"


def _width() -> int:
    return min(max(shutil.get_terminal_size((100, 24)).columns, 40), 112)
