"""Long texts in chunks, each with its own hash, so that a piece is read and checked without the rest."""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from itertools import accumulate

from reme_compact.archive.reference import original_text
from reme_compact.contract.errors import ArchiveDamagedError

CHUNK_BYTES = 64 * 1024
"""Most bytes of a chunk. A text that fits one chunk needs no index: its envelope says everything."""

_FIELDS = 3


@dataclass(frozen=True, slots=True)
class Chunk:
    """One chunk: its length in bytes and in code points, and its SHA-256."""

    bytes: int
    characters: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Index:
    """The chunks of a text in order, and where each one begins and the last one ends."""

    chunks: tuple[Chunk, ...]
    byte_edges: tuple[int, ...]
    character_edges: tuple[int, ...]


def make_index(chunks: tuple[Chunk, ...]) -> Index:
    """Return an index over chunks."""
    return Index(
        chunks,
        tuple(accumulate((chunk.bytes for chunk in chunks), initial=0)),
        tuple(accumulate((chunk.characters for chunk in chunks), initial=0)),
    )


def cut_into_chunks(data: bytes) -> Iterator[Chunk]:
    """Yield the chunks of a text's bytes, none of which ends inside a character."""
    start = 0
    while start < len(data):
        end = min(start + CHUNK_BYTES, len(data))
        while end < len(data) and _continues_a_character(data[end]):
            end -= 1
        piece = data[start:end]
        yield Chunk(len(piece), len(original_text(piece)), sha256(piece).hexdigest())
        start = end


def index_to_bytes(chunks: tuple[Chunk, ...]) -> bytes:
    """Return what is written: a line `bytes characters sha256` for each chunk."""
    return "".join(f"{chunk.bytes} {chunk.characters} {chunk.sha256}\n" for chunk in chunks).encode()


def parse_index(data: bytes, *, expected_sha256: str | None, total_bytes: int, total_characters: int) -> Index:
    """Return the index that was read.

    Raises:
        ArchiveDamagedError: it is not the one that the envelope names, or does not fit the text.

    """
    if sha256(data).hexdigest() != expected_sha256:
        raise ArchiveDamagedError("The index of an original in the archive is damaged.")
    try:
        index = make_index(tuple(_parse_line(line) for line in data.decode("ascii").splitlines()))
    except ValueError:
        raise _unfitting() from None
    if index.byte_edges[-1] != total_bytes or index.character_edges[-1] != total_characters:
        raise _unfitting()
    return index


def check_chunk(chunk: Chunk, data: bytes) -> str:
    """Return the text of a chunk.

    Raises:
        ArchiveDamagedError: these are not the bytes that were stored.

    """
    if len(data) != chunk.bytes or sha256(data).hexdigest() != chunk.sha256:
        raise ArchiveDamagedError("An original in the archive is damaged.")
    try:
        text = original_text(data)
    except UnicodeDecodeError:
        raise ArchiveDamagedError("An original in the archive is not text.") from None
    if len(text) != chunk.characters:
        raise _unfitting()
    return text


def _parse_line(line: str) -> Chunk:
    fields = line.split(" ")
    if len(fields) != _FIELDS:
        raise ValueError
    length, characters = int(fields[0]), int(fields[1])
    if not 0 < characters <= length <= CHUNK_BYTES:
        raise ValueError
    return Chunk(length, characters, fields[2])


def _continues_a_character(byte: int) -> bool:
    return byte & 0b1100_0000 == 0b1000_0000


def _unfitting() -> ArchiveDamagedError:
    return ArchiveDamagedError("The description of an original in the archive does not fit its text.")
