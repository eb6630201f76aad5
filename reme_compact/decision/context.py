"""Task context: what the agent is doing, bounded, for every decision request of one compaction."""

from dataclasses import dataclass
from functools import cache

import orjson

from reme_compact.contract.messages import Message
from reme_compact.contract.request import CompactionRequest
from reme_compact.decision.protocol import State
from reme_compact.decision.questions import INSTRUCTIONS
from reme_compact.history.excerpt import excerpt
from reme_compact.history.text import message_text, without_lone_surrogates
from reme_compact.tokens.estimate import estimate_parts

_COMMA = 1

FRAME_TOKENS = 32
"""Braces, commas and field names around the parts of a state that are measured one by one."""


@dataclass(frozen=True, slots=True)
class TaskContext:
    """The part of a state that all batches share.

    Attributes:
        state: fields of the state without its evidence units.
        tokens: their estimated tokens, framing included.
    """

    state: State
    tokens: int


def build_task_context(request: CompactionRequest) -> TaskContext | None:
    """Build the task context; null if neither a goal nor a next action is known.

    Goal and next action come first, then the first message, system messages, protected messages and recent ones
    from the newest back, until half of `max_state_tokens` is used. What is left out is marked by
    `task_context_complete`.
    """
    goal = request.goal or _last_user_text(request.messages)
    next_action = request.next_action
    if goal is None and next_action is None:
        return None
    budget = request.options.max_state_tokens // 2
    state: State = {"instructions": INSTRUCTIONS}
    tokens = FRAME_TOKENS + _instruction_tokens()
    limit = request.options.evidence_chars
    complete = True
    for field, text in (("goal", goal), ("next_action", next_action)):
        if text is not None:
            state[field], cost = _fitting(without_lone_surrogates(text), limit, budget // 4)
            tokens += cost
            complete = complete and len(state[field]) == len(text)
    chosen, cost, dropped = _choose_texts(request, budget - tokens)
    state["task_context"] = [_entry(request.messages[index], text) for index, text in sorted(chosen.items())]
    state["task_context_complete"] = complete and not dropped
    return TaskContext(state, tokens + cost)


@cache
def _instruction_tokens() -> int:
    return estimate_parts([orjson.dumps(INSTRUCTIONS)])[0]


def _choose_texts(request: CompactionRequest, budget: int) -> tuple[dict[int, str], int, bool]:
    """Take message texts while they fit; return them, their tokens, and whether anything was shortened or left out."""
    chosen: dict[int, str] = {}
    used = 0
    incomplete = False
    lasting, recent = _by_importance(request)
    texts = {index: without_lone_surrogates(message_text(request.messages[index])) for index in [*lasting, *recent]}
    shown = {index: excerpt(text, request.options.evidence_chars) for index, text in texts.items() if text.strip()}
    # All at once: measuring one text takes longer to set up than to do.
    written = (orjson.dumps(_entry(request.messages[index], text)) for index, text in shown.items())
    costs = dict(zip(shown, estimate_parts(written), strict=True))
    for position, index in enumerate([*lasting, *recent]):
        if index in chosen or index not in shown:
            continue
        cost = _COMMA + costs[index]
        if used + cost <= budget:
            used += cost
            incomplete = incomplete or shown[index] is not texts[index]
            chosen[index] = shown[index]
            continue
        incomplete = True
        if position >= len(lasting):
            # What is older than the recent text that did not fit is left out with it.
            break
    return chosen, used, incomplete


def _entry(message: Message, text: str) -> dict[str, str]:
    return {"role": message["role"], "text": text}


def _by_importance(request: CompactionRequest) -> tuple[list[int], list[int]]:
    """Return the indexes of lasting messages (first, system, protected) and of recent ones, newest first."""
    messages = request.messages
    protected = set(request.protected_message_ids)
    system = [index for index, message in enumerate(messages) if message["role"] == "system"]
    meant = [
        index
        for index, message in enumerate(messages)
        if protected and isinstance(message.get("id"), str) and message["id"] in protected
    ]
    recent_count = max(1, request.options.preserve_recent_messages)
    recent = range(len(messages) - 1, max(-1, len(messages) - 1 - recent_count), -1)
    return [0, *system, *meant], list(recent)


def _fitting(text: str, limit: int, budget: int) -> tuple[str, int]:
    """Shorten a text until its estimate fits, and return both; the least shown is 16 characters."""
    while True:
        shown = excerpt(text, limit)
        (tokens,) = estimate_parts([orjson.dumps(shown)])
        if tokens <= budget or limit <= 16:
            return shown, tokens
        limit = max(16, min(limit, len(shown)) // 2)


def _last_user_text(messages: list[Message]) -> str | None:
    for message in reversed(messages):
        if message["role"] == "user":
            text = message_text(message)
            if text.strip():
                return text
    return None
