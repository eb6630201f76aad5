"""The arguments of a command that sends a request: those of the request, and those of the call."""

from collections.abc import Mapping, Sequence

from reme_compact.cli.grammar import read_words
from reme_compact.cli.request_keys import request_keys
from reme_compact.cli.request_values import WHOLE_REQUEST


def read_call(words: Sequence[str], call_keys: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return what is given for the call itself, and all the rest, which is for the request.

    Args:
        words: the arguments.
        call_keys: the keys of the call.

    Raises:
        UsageError: a word is not `key=value`, or a key is given twice.

    """
    assignments = read_words(words, {*request_keys(), WHOLE_REQUEST.name, *call_keys})
    call = {key: value for key, value in assignments.items() if key in call_keys}
    return call, {key: value for key, value in assignments.items() if key not in call_keys}
