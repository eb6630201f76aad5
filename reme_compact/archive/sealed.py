"""Small JSON documents that tell whether they are still what was written."""

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from reme_compact.archive.reference import original_bytes, original_text
from reme_compact.contract.errors import ArchiveDamagedError

_CHECKSUM = b',"checksum":"%s"}'
_CHECKSUM_LENGTH = len(_CHECKSUM % (b"0" * 64))


def compact_json(value: Any) -> bytes:
    """Return JSON as it is written here.

    Lone surrogates are written as they are: escaped, two of them in a row would be read back as one character.

    Raises:
        ValueError: the value is, or holds, what JSON does not have.
        TypeError: likewise.
        RecursionError: the value is nested too deeply.

    """
    return original_bytes(json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")))


def seal(document: Mapping[str, Any]) -> bytes:
    """Return a document, not empty, with its checksum as the last key."""
    data = compact_json(document)
    return data[:-1] + _CHECKSUM % sha256(data).hexdigest().encode()


def unseal(data: bytes, what: str) -> dict[str, Any]:
    """Return the document without its checksum.

    Args:
        data: what was read.
        what: what it is, for the error.

    Raises:
        ArchiveDamagedError: not one byte more, less or other than was written is accepted.

    """
    written = data[:-_CHECKSUM_LENGTH] + b"}"
    if data[-_CHECKSUM_LENGTH:] == _CHECKSUM % sha256(written).hexdigest().encode():
        try:
            document = json.loads(original_text(written))
        except (ValueError, RecursionError):
            document = None
        if isinstance(document, dict):
            return document
    raise ArchiveDamagedError(f"{what} in the archive is damaged. `reme archive verify` names everything that is.")
