"""The text of an original as it is in a store, read whole or in parts, and never without a check."""

from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256

from reme_compact.archive.chunks import CHUNK_BYTES, Chunk, Index, check_chunk, make_index, parse_index
from reme_compact.archive.envelope import Envelope
from reme_compact.archive.names import index_name, text_name
from reme_compact.archive.reference import original_text
from reme_compact.archive.storage import Storage
from reme_compact.contract.errors import ArchiveDamagedError


class StoredText:
    """One text, described by an envelope.

    A part is read by reading the chunks it lies in; each is held against its hash in the index, the index against
    its hash in the envelope, and the envelope against its own checksum before it came here.
    """

    def __init__(self, storage: Storage, envelope: Envelope) -> None:
        self._storage = storage
        self._envelope = envelope
        self._name = text_name(envelope.sha256)
        self._index: Index | None = None
        self._read: dict[int, str] = {}

    @property
    def total(self) -> int:
        """Length in code points."""
        return self._envelope.characters

    def characters(self, start: int, end: int) -> str:
        """Return the code points from `start` up to `end`, both within the text.

        Raises:
            ArchiveDamagedError: what is in the store is not what was stored.

        """
        if start >= end:
            return ""
        index = self._load_index()
        first = bisect_right(index.character_edges, start) - 1
        last = bisect_right(index.character_edges, end - 1) - 1
        self._load(index, first, last)
        text = "".join(self._read[number] for number in range(first, last + 1))
        begins = index.character_edges[first]
        return text[start - begins : end - begins]

    def whole(self) -> str:
        """Return all of it, held against the hash in its reference, with its index checked as well.

        Raises:
            ArchiveDamagedError: what is in the store is not what was stored.

        """
        index = self._load_index()
        with _missing_is_damage():
            data = self._storage.read(self._name)
        if len(data) != self._envelope.byte_count or sha256(data).hexdigest() != self._envelope.sha256:
            raise ArchiveDamagedError("An original in the archive is damaged.")
        for chunk, start in zip(index.chunks, index.byte_edges, strict=False):
            check_chunk(chunk, data[start : start + chunk.bytes])
        return original_text(data)

    def _load_index(self) -> Index:
        if self._index is None:
            envelope = self._envelope
            if envelope.index_sha256 is None:
                if envelope.byte_count > CHUNK_BYTES:
                    raise ArchiveDamagedError("An envelope in the archive does not describe its long text.")
                self._index = make_index((Chunk(envelope.byte_count, envelope.characters, envelope.sha256),))
            else:
                with _missing_is_damage():
                    data = self._storage.read(index_name(envelope.sha256))
                self._index = parse_index(
                    data,
                    expected_sha256=envelope.index_sha256,
                    total_bytes=envelope.byte_count,
                    total_characters=envelope.characters,
                )
        return self._index

    def _load(self, index: Index, first: int, last: int) -> None:
        wanted = [number for number in range(first, last + 1) if number not in self._read]
        if not wanted:
            return
        # In one request, from the first to the last that is missing: a request costs more than a chunk.
        start, end = index.byte_edges[wanted[0]], index.byte_edges[wanted[-1] + 1]
        with _missing_is_damage():
            data = self._storage.read(self._name, start, end)
        for number in range(wanted[0], wanted[-1] + 1):
            chunk = index.chunks[number]
            begins = index.byte_edges[number] - start
            self._read[number] = check_chunk(chunk, data[begins : begins + chunk.bytes])


@contextmanager
def _missing_is_damage() -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise ArchiveDamagedError("An original that is named in the archive is missing from it.") from None
