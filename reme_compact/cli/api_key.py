"""`reme api_key`: make a key for callers of the service, and say what to put into the preset."""

import hashlib
import re
import secrets
from collections.abc import Mapping, Sequence

from reme_compact.cli.call_values import call_values, check_one_reader
from reme_compact.cli.exit_codes import ExitCode
from reme_compact.cli.grammar import read_words
from reme_compact.cli.printable import shorten
from reme_compact.cli.source import find_source
from reme_compact.cli.source_text import read_text
from reme_compact.cli.streams import standard_output
from reme_compact.cli.usage import UsageError, sentence
from reme_compact.contract.validation import unknown_key

KEYS: Mapping[str, str] = {
    "name": "whose key it is: up to 64 letters, digits, '-', '_' and '.'; its jobs are kept under that name; "
    "default: default",
    "key": "a key of your own, from standard input (key=-) or a file (key=@FILE); default: a new random one",
}

PREFIX = "reme_"
"""By which a key is recognised, for instance by programs that look for forgotten secrets."""

_SHORTEST_KEY = 24
_KEY = re.compile(r"[A-Za-z0-9._~+/-]+=*")
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_ANONYMOUS = "anonymous"

_NEW = """\
The key, which is shown only now. Callers send it as the header Authorization: Bearer KEY; reme itself reads it from
the environment variable REME_API_KEY.

  {key}

"""

_SETTINGS = """\
The service knows it by its hash. In the preset:

service:
  api_keys:
    {name}:
      sha256: {sha256}

There it may also have max_active_jobs: NUMBER and administrator: true."""

_OVERRIDE = """

Or where the service is started:

  reme start service.api_keys.{name}.sha256={sha256}"""

_LOST = "The key is lost, and no service knows it: make another one."
_LOST_SETTINGS = "Nobody saw the settings of the key: call the command again."


def run(words: Sequence[str]) -> ExitCode:
    """Read the arguments and write the key, if it is a new one, and its settings to standard output.

    Raises:
        UsageError: a key is unknown, or its value cannot serve.
    """
    given = read_words(words, KEYS)
    for key in given:
        if key not in KEYS:
            raise UsageError(sentence(f"{shorten(key, 80)}: {unknown_key(key, list(KEYS))}"))
    check_one_reader(given)
    name = _checked_name(call_values({"name": "default", **given}, literal=("key",))["name"])
    secret = _given_key(given["key"]) if "key" in given else None
    text = describe_key(name, secret or PREFIX + secrets.token_urlsafe(32), is_new=secret is None)
    with standard_output(_LOST if secret is None else _LOST_SETTINGS) as stream:
        print(text, file=stream)
    return ExitCode.PROPOSAL


def describe_key(name: str, key: str, *, is_new: bool) -> str:
    """Return what to do with a key; the key itself is only in it if it is new."""
    sha256 = hashlib.sha256(key.encode()).hexdigest()
    # What YAML would read as a number or a truth stays text.
    text = _NEW.format(key=key) if is_new else ""
    text += _SETTINGS.format(name=f'"{name}"', sha256=f'"{sha256}"')
    if "." not in name:  # a dot would lead further down
        text += _OVERRIDE.format(name=name, sha256=sha256)
    return text


def _checked_name(name: str) -> str:
    if not _NAME.fullmatch(name) or name == _ANONYMOUS:
        raise UsageError(
            f"name: must be 1 to 64 letters, digits, '-', '_' and '.', and not '{_ANONYMOUS}', which means requests "
            "without a key."
        )
    return name


def _given_key(value: str) -> str:
    source = find_source(value)
    if source.kind == "literal":
        raise UsageError("key: others can see what stands on a command line; give it on standard input (key=-).")
    key = read_text("key", source).strip()
    if len(key) < _SHORTEST_KEY or not _KEY.fullmatch(key):
        raise UsageError(
            f"key: must be at least {_SHORTEST_KEY} letters, digits or characters of -._~+/, and random; "
            "leave key= out to have one made."
        )
    return key
