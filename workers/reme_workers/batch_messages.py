"""What a scores worker is sent: the names of batches; what they ask stands in Redis, compressed."""

from typing import Any

import orjson
import zstandard

from reme_compact.decision.batching import Batch

SLACK_SECONDS = 60
"""How much longer than its deadline a batch's content is kept."""

MOST_BATCHES = 8
"""Most batches in one message: enough to make what a message costs small, few enough to spread over workers."""


def batches_per_message(max_concurrency: int, live_processes: int) -> int:
    """Return how many batches one message should carry, so that a window of them reaches every live process."""
    return min(MOST_BATCHES, -(-max_concurrency // max(1, live_processes)))


def pack_batch(batch: Batch) -> bytes:
    """Return a batch as compressed JSON."""
    content = {"state": batch.state, "unit_ids": batch.unit_ids, "state_tokens": batch.state_tokens}
    return zstandard.compress(orjson.dumps(content), 1)


def unpack_batch(packed: bytes) -> Batch:
    """Read what `pack_batch` wrote; the batch has the same key.

    Raises:
        zstandard.ZstdError, ValueError, LookupError: it is something else.
    """
    content: dict[str, Any] = orjson.loads(zstandard.decompress(packed))
    return Batch(content["state"], content["unit_ids"], content["state_tokens"])
