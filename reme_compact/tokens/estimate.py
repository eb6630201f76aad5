"""Estimate the tokens of text from its bytes alone: fast, additive over parts, and rarely too low.

Every byte falls into one of 16 classes, and every pair of neighbouring classes has a fixed weight: a letter that
continues a word costs little, one that begins a word after a digit costs nearly a token. That is enough to tell
prose from base64, and needs no tokenizer, no table of words and no loop over characters.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from reme_compact.tokens.estimate_weights import CLASS_OF_BYTE, SCALE, SHORTENED_RUNS, WEIGHTS

if TYPE_CHECKING:
    import numpy as np

_FIRST_CHUNK_BYTES = 4 * 1024
_LARGEST_CHUNK_BYTES = 64 * 1024
_MOST_FOR_FOUR_BYTES = 16 * 1024 * 1024


def estimate_tokens(text: str | bytes) -> int:
    """Return the estimated number of tokens of one text."""
    return estimate_parts([text if isinstance(text, bytes) else encode(text)])[0]


def estimate_parts(parts: Iterable[bytes]) -> list[int]:
    """Return the estimated number of tokens of each part, each rounded up.

    The sum over parts is an estimate for the parts joined, so sizes can be added up and never measured again.
    """
    result: list[int] = []
    for chunk in _chunks(parts):
        result.extend(_estimate_chunk(chunk))
    return result


def encode(text: str) -> bytes:
    """Write text as UTF-8, lone surrogates as question marks (their size, not their value, matters here)."""
    return text.encode("utf-8", "replace")


def _chunks(parts: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Group parts as they come, so that neither they nor the arrays of one pass need to be held all at once.

    Groups grow from one to the next: larger ones are measured faster, and take memory that little text is not worth.
    """
    chunk: list[bytes] = []
    size = 0
    enough = _FIRST_CHUNK_BYTES
    for part in parts:
        chunk.append(part)
        size += len(part)
        if size >= enough:
            yield chunk
            chunk, size = [], 0
            enough = min(2 * enough, _LARGEST_CHUNK_BYTES)
    if chunk:
        yield chunk


def _estimate_chunk(parts: Sequence[bytes]) -> list[int]:
    import numpy as np  # noqa: PLC0415 - keeps importing the package light

    # A line break before each part makes it begin as a line does, whatever stands before it.
    joined = b"\n".join([b"", *parts])
    if any(run in joined for run, _ in SHORTENED_RUNS):
        parts = [_shorten_runs(part) for part in parts]
        joined = b"\n".join([b"", *parts])
    # Two neighbouring bytes are one number of two bytes: first those that begin at an even place, then the others.
    even = _weight_table().take(np.frombuffer(joined, "<u2", len(joined) // 2))
    odd = _weight_table().take(np.frombuffer(joined, "<u2", (len(joined) - 1) // 2, 1))
    if len(parts) == 1:
        return [-(-(int(even.sum()) + int(odd.sum())) // SCALE)]
    lengths = np.fromiter((len(part) + 1 for part in parts), dtype=np.int64, count=len(parts))
    ends = np.cumsum(lengths)
    starts = ends - lengths
    # The neighbours of which the second is the line break that ends a part belong to no part.
    ends -= 1
    sums = _sums(even, (starts + 1) // 2, (ends + 1) // 2) + _sums(odd, starts // 2, ends // 2)
    return [int(value) for value in -(-sums // SCALE)]


def _sums(weights: "np.ndarray[Any, Any]", starts: "np.ndarray[Any, Any]", ends: "np.ndarray[Any, Any]") -> Any:
    """Sum the weights from each start to its end, which are in order."""
    import numpy as np  # noqa: PLC0415

    occupied = ends > starts
    sums = np.zeros(len(starts), dtype=np.int64)
    if occupied.any():
        bounds = np.empty(2 * int(occupied.sum()), dtype=np.int64)
        bounds[0::2] = starts[occupied]
        bounds[1::2] = ends[occupied]
        if bounds[-1] == len(weights):
            bounds = bounds[:-1]
        # Four bytes hold the sum of 16 MiB of weights, and adding them up is three times as fast as with eight.
        width = np.uint32 if int((ends - starts).max()) < _MOST_FOR_FOUR_BYTES else np.uint64
        sums[occupied] = np.add.reduceat(weights, bounds, dtype=width)[0::2]
    return sums


def _shorten_runs(part: bytes) -> bytes:
    for run, short in SHORTENED_RUNS:
        # Looking for one character first is much faster where there is none: JSON holds no line breaks and tabs.
        if run[:1] in part:
            part = part.replace(run, short)
    return part


@cache
def _weight_table() -> "np.ndarray[Any, Any]":
    """Return the weight of any two neighbouring bytes, by the number that they are, the first byte the lower one."""
    import numpy as np  # noqa: PLC0415

    classes = np.frombuffer(CLASS_OF_BYTE, dtype=np.uint8)
    weights = np.frombuffer(bytes(WEIGHTS), dtype=np.uint8).reshape(16, 16)
    return weights[classes[np.newaxis, :], classes[:, np.newaxis]].ravel()
