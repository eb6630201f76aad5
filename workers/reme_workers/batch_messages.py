"""What a scores worker is sent: the names of batches; what they ask stands in Redis, compressed if that saves much."""

from typing import Any

import orjson
import zstandard

from reme_compact.decision.batching import Batch

SLACK_SECONDS = 60
"""How much longer than its deadline a batch's content is kept."""

LARGEST_SHARE = 8
"""Most batches of one message that are at the decision model at once: few enough to spread a window over workers."""

ROUNDS_PER_MESSAGE = 4
"""A message carries so many times its share, so that what a message costs, and the way there and back, is rare."""

_COMPRESSED_ABOVE_BYTES = 2048


def share_of_message(max_concurrency: int, live_processes: int) -> int:
    """Return the share of a window that one message should have, so that the window reaches every live process."""
    return min(LARGEST_SHARE, -(-max_concurrency // max(1, live_processes)))


def pack_batch(batch: Batch) -> bytes:
    """Return a batch as JSON, compressed if it is large."""
    content = {"state": batch.state, "unit_ids": batch.unit_ids, "state_tokens": batch.state_tokens}
    written = orjson.dumps(content)
    return written if len(written) <= _COMPRESSED_ABOVE_BYTES else zstandard.compress(written, 1)


def unpack_batch(packed: bytes, key: str | None = None) -> Batch:
    """Read what `pack_batch` wrote; the batch has the same key.

    Args:
        packed: what was written.
        key: the batch's; null: it is computed when it is needed.

    Raises:
        zstandard.ZstdError, ValueError, LookupError: it is something else.
    """
    written = packed if packed.startswith(b"{") else zstandard.decompress(packed)
    content: dict[str, Any] = orjson.loads(written)
    return Batch(content["state"], content["unit_ids"], content["state_tokens"], key)
