"""What `reme --help` says. The keys and their meanings come from the models, so that they cannot disagree.

The models are imported by the texts that list keys, not by the main help, which is there at once.
"""

import json
from collections.abc import Mapping

from reme_compact.cli.help_layout import described, exit_codes, pairs

MAIN = """\
reme keeps an LLM agent's context small without losing what it needs. It reads a history of messages and
proposes the same history, smaller: old tool results that a decision model judges no longer needed become a
short excerpt and a reference to the original. Your history is never changed.

Usage: reme COMMAND [key=value ...]

{commands}

Try it. This works as it stands; once `reme start` runs in another terminal, so does the same without "start job=":

{example}

{what_it_shows}

Exit codes:
{exit_codes}"""

COMMANDS: Mapping[str, str] = {
    "reme start [config=PRESET] [a.b=value ...]": "run the service (Ctrl-C stops it)",
    "reme start job=compact_context key=value ...": "make one proposal without a service",
    "reme compact_context key=value ...": "ask a running service for a proposal",
    "reme submit compact_context key=value ...": "the same as a job: print its id, and do not wait",
    "reme jobs [ID]": "list jobs, or show one",
    "reme watch ID": "follow a job until it ends",
    "reme result ID": "show the proposal of a finished job",
    "reme cancel ID": "end a job",
    "reme recover ref=REFERENCE [key=value ...]": "read back the original that a preview stands for",
    "reme archive list|stat|delete|verify|gc": "look after the archive of originals",
    "reme worker role=jobs|scores": "run a worker of a distributed deployment",
    "reme api_key [name=NAME]": "make a key for callers of the service",
    "reme help [COMMAND]": "all keys, with types, defaults and meanings",
    "reme --version": "print the version",
}

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
  reme start config=distributed workers=local
  reme start config=distributed redis_url=redis://127.0.0.1:6379/0
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
                    @FILE, - and their escapes also serve keys of the call that take a text or a number
  request=@FILE     the whole request as one JSON object; other keys replace what it says
  Each key once. Empty text counts as absent.""".strip("\n")


_COMMAND = "reme compact_context"
_LOCAL_COMMAND = "reme start job=compact_context"


def main_help() -> str:
    """Return the help of the whole command."""
    return MAIN.format(
        commands=pairs(COMMANDS),
        example=paste_example(_LOCAL_COMMAND),
        what_it_shows=WHAT_IT_SHOWS.format(command=_LOCAL_COMMAND),
        exit_codes=exit_codes(),
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
        keys="\n".join(described([*request_keys().values(), WHOLE_REQUEST])),
        call_keys=pairs(CALL_KEYS),
        exit_codes=exit_codes(),
    )


def start_help() -> str:
    """Return the help of `reme start`, with the settings of a preset."""
    from reme_compact.cli.request_keys import keys_of  # noqa: PLC0415
    from reme_compact.cli.start import START_KEYS  # noqa: PLC0415
    from reme_compact.presets.schema import Preset  # noqa: PLC0415

    return START.format(
        example=paste_example(_LOCAL_COMMAND),
        what_it_shows=WHAT_IT_SHOWS.format(command=_LOCAL_COMMAND),
        start_keys=pairs(START_KEYS),
        sections="\n".join(described(keys_of(Preset).values())),
        exit_codes=exit_codes(),
    )


def paste_example(command: str = _COMMAND) -> str:
    """Return a call that works when pasted into a POSIX shell."""
    return "\n".join(
        (
            f"  {command} goal='Fix payment retries' next_action='Review the retry implementation' \\",
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
