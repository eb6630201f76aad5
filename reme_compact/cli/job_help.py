"""What `reme help` says about jobs and workers."""

from reme_compact.cli.help import GRAMMAR, paste_example
from reme_compact.cli.help_layout import described, exit_codes, pairs

SUBMIT = """\
Usage: reme submit compact_context key=value ...

Hands a request to a running service as a job, prints the job's id on standard output, and nothing else there. The
job goes on when the command has ended.

Example:

{example}

In a script, with the id kept for the commands that follow:

  id=$(reme submit compact_context request=@request.json)
  reme watch "$id"
  reme result "$id" output=json

{grammar}

Keys of the request:
{keys}

Keys of the call:
{call_keys}

{key_of_the_service}

Exit codes (0: the job was accepted):
{exit_codes}"""

JOBS = """\
Usage: reme jobs [key=value ...]
       reme jobs ID [key=value ...]

Lists the jobs of a running service, the newest first, or shows one of them in detail.

Examples:

  reme jobs
  reme jobs status=running limit=5
  reme jobs output=json

Keys:
{keys}

PROGRESS is how many of the results that are asked about have come back. {key_of_the_service}

Exit codes:
{exit_codes}"""

WATCH = """\
Usage: reme watch ID [key=value ...]

Shows what happens to a job until it ends, as a progress bar on a terminal and as lines elsewhere. A connection that
breaks is made again, and nothing is missed. Ctrl-C ends the watching; the job goes on.

Example:

  reme watch "$(reme submit compact_context request=@request.json)"

Keys:
{keys}

{key_of_the_service}

Exit codes (0: the job succeeded; 1: it ended in another way):
{exit_codes}"""

RESULT = """\
Usage: reme result ID [key=value ...]

Shows the proposal of a finished job as `reme compact_context` shows it: on a terminal a report, otherwise the response
as JSON on one line. The report's advice is less exact, since the service does not give the request back.

Example:

  id=$(reme submit compact_context request=@request.json wait=60)
  reme result "$id" output=messages

Keys:
{keys}

{key_of_the_service}

Exit codes:
{exit_codes}"""

CANCEL = """\
Usage: reme cancel ID [key=value ...]

Ends a job: no further decision request is made for it. A job that had ended stays what it is.

Example:

  reme cancel "$(reme submit compact_context request=@request.json)"

Keys:
{keys}

{key_of_the_service}

Exit codes (0: whatever the job was, it is not running any more):
{exit_codes}"""

WORKER = """\
Usage: reme worker role=jobs|scores [key=value ...] [section.key=value ...]

Runs one worker of a distributed deployment until Ctrl-C or SIGTERM, and starts it again whenever it ends by itself.
Needs pip install 'reme-compact[distributed]' and a Redis server. One worker has one role; run at least one of each.

Examples:

  reme worker role=jobs redis_url=redis://127.0.0.1:6379/0
  reme worker role=scores redis_url=redis://127.0.0.1:6379/0 concurrency=16

Keys:
{keys}

Sections of the preset, as in `reme help start`, may be given too; all workers and the service need the same.

Exit codes:
{exit_codes}"""

_KEY = "A service that wants an API key gets the one in the environment variable REME_API_KEY."


def submit_help() -> str:
    """Return the help of `reme submit`, with every key of a request."""
    from reme_compact.cli.request_keys import request_keys  # noqa: PLC0415
    from reme_compact.cli.request_values import WHOLE_REQUEST  # noqa: PLC0415
    from reme_compact.cli.submit import SUBMIT_KEYS  # noqa: PLC0415

    return SUBMIT.format(
        example=paste_example("reme submit compact_context"),
        grammar=GRAMMAR,
        keys="\n".join(described([*request_keys().values(), WHOLE_REQUEST])),
        call_keys=pairs(SUBMIT_KEYS),
        key_of_the_service=_KEY,
        exit_codes=exit_codes(),
    )


def jobs_help() -> str:
    """Return the help of `reme jobs`."""
    from reme_compact.cli.jobs import JOBS_KEYS  # noqa: PLC0415

    return JOBS.format(keys=pairs(JOBS_KEYS), key_of_the_service=_KEY, exit_codes=exit_codes())


def watch_help() -> str:
    """Return the help of `reme watch`."""
    from reme_compact.cli.watch import WATCH_KEYS  # noqa: PLC0415

    return WATCH.format(keys=pairs(WATCH_KEYS), key_of_the_service=_KEY, exit_codes=exit_codes())


def result_help() -> str:
    """Return the help of `reme result`."""
    from reme_compact.cli.result import RESULT_KEYS  # noqa: PLC0415

    return RESULT.format(keys=pairs(RESULT_KEYS), key_of_the_service=_KEY, exit_codes=exit_codes())


def cancel_help() -> str:
    """Return the help of `reme cancel`."""
    from reme_compact.cli.cancel import CANCEL_KEYS  # noqa: PLC0415

    return CANCEL.format(keys=pairs(CANCEL_KEYS), key_of_the_service=_KEY, exit_codes=exit_codes())


def worker_help() -> str:
    """Return the help of `reme worker`."""
    from reme_compact.cli.worker import WORKER_KEYS  # noqa: PLC0415

    return WORKER.format(keys=pairs(WORKER_KEYS), exit_codes=exit_codes())
