"""Read the text that a value stands for: itself, a file's, or that of standard input."""

import sys
from pathlib import Path

from reme_compact.cli.printable import shorten
from reme_compact.cli.source import Source
from reme_compact.cli.usage import UsageError


def read_text(path: str, source: Source) -> str:
    """Read the text that the value of a key stands for.

    Raises:
        UsageError: the file cannot be read, or is not UTF-8.

    """
    if source.kind == "literal":
        return source.text
    if source.kind == "standard_input":
        where, content = "standard input", _read_standard_input(path)
    else:
        where, content = f"file '{_shown(source.text)}'", _read_file(path, source.text)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: {where} is not valid UTF-8 (byte {error.start}).") from None


def _read_standard_input(path: str) -> bytes:
    if sys.stdin is None:
        raise UsageError(f"{path}: standard input is closed.")
    try:
        return sys.stdin.buffer.read()
    except OSError as error:
        raise UsageError(f"{path}: standard input cannot be read ({error.strerror}).") from None


def _shown(name: str) -> str:
    return shorten(name, 200)


def _read_file(path: str, name: str) -> bytes:
    if not name:
        raise UsageError(f"{path}: the name of the file is missing after @ (write @@ for a literal @).")
    try:
        return Path(name).expanduser().read_bytes()
    except IsADirectoryError:
        raise UsageError(f"{path}: '{_shown(name)}' is a folder, not a file.") from None
    except FileNotFoundError:
        raise UsageError(
            f"{path}: there is no file '{_shown(name)}' (write @@ instead of @ for text that starts with @)."
        ) from None
    except (OSError, ValueError, RuntimeError) as error:
        cause = getattr(error, "strerror", None) or "its name is not valid"
        raise UsageError(f"{path}: file '{_shown(name)}' cannot be read ({cause}).") from None
