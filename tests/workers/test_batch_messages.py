"""What a scores worker is sent."""

import pytest
from reme_workers.batch_messages import pack_batch, share_of_message, unpack_batch

from reme_compact.decision.batching import Batch


def test_a_batch_arrives_as_it_was_sent() -> None:
    state = {"goal": "Größe", "evidence_units": [{"id": "t1", "result": "a\ud83d"[:1] * 5000, "result_chars": 5000}]}
    sent = Batch(state, ["t1"], state_tokens=7)
    packed = pack_batch(sent)
    arrived = unpack_batch(packed)
    assert (arrived.state, arrived.unit_ids, arrived.state_tokens) == (sent.state, sent.unit_ids, 7)
    assert arrived.key() == sent.key()
    assert len(packed) < 500


@pytest.mark.parametrize(
    ("window", "processes", "size"),
    [(16, 1, 8), (16, 2, 8), (16, 3, 6), (16, 16, 1), (16, 100, 1), (4, 0, 4), (1, 1, 1), (5, 2, 3)],
)
def test_a_window_reaches_every_process(window: int, processes: int, size: int) -> None:
    assert share_of_message(window, processes) == size
