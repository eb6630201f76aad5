"""`reme archive`: see what an archive keeps, check it, and remove what is not wanted any more."""

import difflib
from collections.abc import Mapping, Sequence

from reme_compact.cli.archive_actions import ACTIONS
from reme_compact.cli.archive_opening import ARCHIVE_KEYS, open_archive
from reme_compact.cli.exit_codes import ExitCode
from reme_compact.cli.job_output import choose_format, write_json, write_text
from reme_compact.cli.printable import shorten
from reme_compact.cli.reference_words import REFERENCE_KEY, read_reference_words
from reme_compact.cli.usage import UsageError

ACTION_KEYS: Mapping[str, str] = {
    "session": "list: what it keeps, instead of all sessions; delete: which one, required; verify: only this one",
    "owner": "list, delete, verify: name of the API key that the session belongs to; default: none, as for sessions "
    "of hosts that embed reme-compact and of services without keys",
    REFERENCE_KEY: "stat: the reference of an original, as it stands in the last line of a preview; required",
    "dry_run": "delete, gc: true: only say what would be removed; default: false",
    "older_than": "gc: seconds; what was written or used since stays; default: 86400",
}
KEYS: Mapping[str, str] = {
    **ACTION_KEYS,
    **ARCHIVE_KEYS,
    "output": "text or json; default: text on a terminal, else json",
}
_KEYS_OF: Mapping[str, frozenset[str]] = {
    "list": frozenset({"session", "owner"}),
    "stat": frozenset({REFERENCE_KEY}),
    "delete": frozenset({"session", "owner", "dry_run"}),
    "verify": frozenset({"session", "owner"}),
    "gc": frozenset({"dry_run", "older_than"}),
}


def run(words: Sequence[str]) -> ExitCode:
    """Read the arguments, do what they say, and write what came of it."""
    action, words = _split_action(words)
    given = read_reference_words(words, KEYS)
    for key in given:
        if key in ACTION_KEYS and key not in _KEYS_OF[action]:
            others = [other for other, keys in _KEYS_OF.items() if key in keys]
            raise UsageError(f"{key}: is for {', '.join(others)}; not for {action}.")
    output = choose_format(given.get("output"), ("text", "json"))
    report = ACTIONS[action](open_archive(given), given)
    if output == "json":
        write_json(report.document, lost=report.lost)
    else:
        write_text(report.text, lost=report.lost)
    if report.failure is not None:
        raise report.failure
    return ExitCode.PROPOSAL


def _split_action(words: Sequence[str]) -> tuple[str, Sequence[str]]:
    action, *others = words or ("",)
    if action in ACTIONS:
        return action, others
    if not action or "=" in action:
        raise UsageError(f"what shall be done is missing: reme archive {'|'.join(ACTIONS)}.")
    close = difflib.get_close_matches(action.lower(), list(ACTIONS), n=1)
    hint = f"did you mean '{close[0]}'?" if close else f"choose one of {', '.join(ACTIONS)}."
    raise UsageError(f"'{shorten(action, 40)}' is nothing to do with an archive; {hint}")
