"""What is submitted in the measurements of jobs."""

import json
from random import Random
from typing import Any

from benchmarks.histories import build_history
from benchmarks.texts import TextSource

_ONE_UNIT_TOKENS = 550
"""Holds a task context and one result of `_RESULT_CHARS`, but not two."""

_RESULT_CHARS = 500
_SEED = 4
_SAMPLE_PAIRS = 200
_LONG_SECONDS = 600


def batches_body(batches: int, max_concurrency: int, *, seed: int = _SEED) -> bytes:
    """Return a request that needs so many decision requests."""
    options = {"max_state_tokens": _ONE_UNIT_TOKENS, "max_concurrency": max_concurrency}
    source = TextSource("prose", Random(seed))  # noqa: S311 - reproducible test data
    ids = [f"call_{number}" for number in range(batches)]
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": [{"type": "text", "text": "Go on with the retry worker."}]}
    ]
    for call_id in ids:
        call = {"type": "tool_call", "id": call_id, "name": "search_docs", "input": "{}", "state": "finished"}
        output = source.take(_RESULT_CHARS, f"{call_id} of session {seed}")
        result = {"type": "tool_result", "id": call_id, "name": "search_docs", "output": output, "state": "success"}
        messages.append({"role": "assistant", "content": [call, result]})
    request: dict[str, Any] = {
        "messages": messages,
        "goal": "Find out why some customers are charged twice.",
        "source_refs": {call_id: f"archive/{call_id}" for call_id in ids},
        "eligible_tool_names": ["search_docs"],
        "options": {"preserve_recent_pairs": 0, **options},
    }
    return _written(request)


def large_body(total_bytes: int, result_chars: int) -> tuple[int, bytes]:
    """Return a request of so many bytes, or a little more, and how many tool pairs that are."""
    sample = len(_large_body(_SAMPLE_PAIRS, result_chars)) / _SAMPLE_PAIRS
    pairs = int(total_bytes / sample) + 1
    return pairs, _large_body(pairs, result_chars)


def _large_body(pairs: int, result_chars: int) -> bytes:
    options = {"preserve_recent_pairs": 0, "max_concurrency": 16, "total_timeout_seconds": _LONG_SECONDS}
    return _written(build_history(pairs, result_chars, "message_per_pair", _SEED).request(options))


def _written(request: dict[str, Any]) -> bytes:
    return json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode()
