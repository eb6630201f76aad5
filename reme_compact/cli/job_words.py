"""The arguments of a command about jobs: the id of one, as a word of its own, and keys."""

from collections.abc import Collection, Sequence

from reme_compact.cli.call_values import call_values
from reme_compact.cli.grammar import read_words
from reme_compact.cli.printable import shorten
from reme_compact.cli.usage import UsageError, sentence
from reme_compact.contract.validation import unknown_key
from reme_compact.jobs.identity import is_job_id

_EXAMPLE = "019a0c6f2b1e-0123456789abcdef0123"


def read_job_words(words: Sequence[str], known_keys: Collection[str]) -> tuple[str | None, dict[str, str]]:
    """Return the id, null if none is given, and the keys with their values.

    Raises:
        UsageError: what should be an id cannot be one, there are two, a key is unknown or given twice, or its value
            cannot be read.

    """
    keys = ["id", *known_keys]
    ids = [word for word in words if _is_meant_as_id(word, keys)]
    given = read_words([word for word in words if word not in ids], keys)
    for key in given:
        if key not in keys:
            raise UsageError(sentence(f"{shorten(key, 80)}: {unknown_key(key, keys)}"))
    given = call_values(given)
    ids += [given.pop("id")] if "id" in given else []
    if len(ids) > 1:
        raise UsageError("id: one job at a time.")
    return (_checked(ids[0]) if ids else None), given


def read_words_of_one_job(words: Sequence[str], known_keys: Collection[str]) -> tuple[str, dict[str, str]]:
    """Return the id, which has to be there, and the keys with their values.

    Raises:
        UsageError: the id is missing, or as for `read_job_words`.

    """
    job_id, given = read_job_words(words, known_keys)
    if job_id is None:
        raise UsageError("id: which job? `reme submit` prints the id of its job, and `reme jobs` lists them all.")
    return job_id, given


def _is_meant_as_id(word: str, keys: Collection[str]) -> bool:
    return "=" not in word and not word.startswith("-") and word not in keys


def _checked(text: str) -> str:
    if not is_job_id(text):
        raise UsageError(f"'{shorten(text, 60)}' is not the id of a job, which looks like {_EXAMPLE}.")
    return text
