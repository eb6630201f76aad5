"""The arguments of a command that sends a request: those of the request, and those of the call."""

from collections.abc import Mapping, Sequence

from reme_compact.cli.call_values import call_values, check_one_reader
from reme_compact.cli.grammar import read_words
from reme_compact.cli.request_keys import request_keys
from reme_compact.cli.request_values import WHOLE_REQUEST


def read_call(words: Sequence[str], call_keys: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return what is given for the call itself, and all the rest as written, which is for the request.

    Args:
        words: the arguments.
        call_keys: the keys of the call.

    Raises:
        UsageError: a word is not `key=value`, a key is given twice, or a value of the call cannot be read.

    """
    assignments = read_words(words, {*request_keys(), WHOLE_REQUEST.name, *call_keys})
    check_one_reader(assignments)
    call = {key: value for key, value in assignments.items() if key in call_keys}
    return call_values(call), {key: value for key, value in assignments.items() if key not in call_keys}
