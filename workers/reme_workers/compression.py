"""Requests and responses as compressed bytes, without more copies than needed.

The compressor lets go of the interpreter while it works, so large data belongs into a worker thread.
"""

import asyncio
from collections.abc import Callable, Sequence
from io import BytesIO
from typing import TypeVar

import zstandard

PIECE_BYTES = 1024 * 1024

_LEVEL = 1  # A history is mostly text, where higher levels gain little and cost much.
_SMALL_BYTES = 32 * 1024
_LONGEST_HEADER_BYTES = 18

Result = TypeVar("Result")


def compress(pieces: Sequence[bytes]) -> bytes:
    """Compress the concatenation of pieces without concatenating them."""
    compressor = zstandard.ZstdCompressor(level=_LEVEL).compressobj(size=size_of(pieces))
    written = [compressor.compress(piece) for piece in pieces]
    return b"".join([*written, compressor.flush()])


def decompress(stored: BytesIO) -> bytearray:
    """Return what `compress` was given, whole, in memory that is taken once."""
    whole = bytearray(decompressed_size(stored))
    with zstandard.ZstdDecompressor().stream_reader(stored, closefd=False) as reader, memoryview(whole) as view:
        filled = 0
        while filled < len(whole):
            filled += reader.readinto(view[filled:])
    return whole


def decompressed_pieces(stored: BytesIO) -> list[bytes]:
    """Return what `compress` was given, in pieces of at most `PIECE_BYTES`."""
    with zstandard.ZstdDecompressor().stream_reader(stored, closefd=False) as reader:
        return list(iter(lambda: reader.read(PIECE_BYTES), b""))


def decompressed_size(stored: BytesIO) -> int:
    """Return how many bytes were compressed."""
    with stored.getbuffer() as view:
        return zstandard.frame_content_size(bytes(view[:_LONGEST_HEADER_BYTES]))


def size_of(pieces: Sequence[bytes]) -> int:
    """Return the bytes of all pieces together."""
    return sum(map(len, pieces))


async def beside_the_loop(size: int, work: Callable[[], Result]) -> Result:
    """Do work on so many uncompressed bytes in a thread, unless they are so few that a thread costs more."""
    return work() if size <= _SMALL_BYTES else await asyncio.to_thread(work)
