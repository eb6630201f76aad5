"""What a growing history costs over ten turns, compacted in four ways. Run it with: python examples/ten_turns.py

A scripted agent works through ten tasks and reads four files for each. Every model request sends the whole history; the
part in front that is message for message what the request before it sent is read from the provider's prompt cache.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import orjson

from reme_compact import AdditiveTokenCounter, BinaryAnswer, CompactContextStep, DecisionResponse
from reme_compact.decision.protocol import Questions, State

Message: TypeAlias = dict[str, Any]
Prepare: TypeAlias = Callable[[int, list[Message]], Awaitable[list[Message]]]
"""What a host does with its history before a turn: given the turn's number and the history, it returns another."""

TURNS = 10
FILES_A_TURN = 4
CACHE_READ_PRICE = 0.1
"""Price of a token that is read from the cache, where one that is not costs 1."""

SHORT_TURNS = (4, 5, 6)
"""Turns that only look at short files."""

AGREED_IN_TURNS = (1, 4, 7)
"""Turns in which one file holds something that all later tasks depend on."""


def file_of(turn: int, number: int) -> str:
    """Return what the agent reads in a turn."""
    lines = [f"module_{turn}_{number}, line {line}: nothing that matters any more\n" for line in range(100)]
    if number == 0 and turn in AGREED_IN_TURNS:
        lines[10] = f"AGREED in turn {turn}: amounts are whole cents\n"
        return "".join(lines[:20])
    return "".join(lines[: 15 if turn in SHORT_TURNS else 100])


def tokens_of(message: Message) -> int:
    """Estimate a message: a token is about four characters of it."""
    return len(orjson.dumps(message)) // 4


@dataclass
class Meter:
    """Adds up what is sent, and which part of it was sent just before."""

    requests: int = 0
    tokens: int = 0
    from_cache: int = 0
    last: list[Message] = field(default_factory=list)

    def send(self, history: list[Message]) -> None:
        self.requests += 1
        self.tokens += sum(map(tokens_of, history))
        for now, before in zip(history, self.last, strict=False):
            if now != before:
                break
            self.from_cache += tokens_of(now)
        self.last = list(history)

    @property
    def price(self) -> float:
        return self.tokens - self.from_cache + CACHE_READ_PRICE * self.from_cache


async def run_agent(prepare: Prepare) -> Meter:
    """Let the agent do its ten tasks; it keeps the history that it is handed before each."""
    meter = Meter()
    history: list[Message] = [{"role": "system", "content": "You mend the modules of a shop."}]
    for turn in range(1, TURNS + 1):
        history.append({"role": "user", "content": f"Mend module {turn}, as we agreed."})
        history = await prepare(turn, history)
        for number in range(FILES_A_TURN):
            meter.send(history)
            call_id = f"call_{turn}_{number}"
            function = {"name": "read_file", "arguments": f'{{"path": "module_{turn}_{number}.py"}}'}
            call = {"id": call_id, "type": "function", "function": function}
            history.append({"role": "assistant", "content": None, "tool_calls": [call]})
            history.append({"role": "tool", "tool_call_id": call_id, "content": file_of(turn, number)})
        meter.send(history)
        history.append({"role": "assistant", "content": f"Module {turn} is mended."})
    return meter


async def never(turn: int, history: list[Message]) -> list[Message]:
    del turn
    return history


async def by_recency(turn: int, history: list[Message]) -> list[Message]:
    """Clear all results but those of the last turn."""
    del turn
    results = [index for index, message in enumerate(history) if message["role"] == "tool"]
    old = set(results[:-FILES_A_TURN])
    return [{**message, "content": "[cleared]"} if index in old else message for index, message in enumerate(history)]


async def what_was_agreed(state: State, questions: Questions) -> DecisionResponse:
    """Stand in for a decision model: needed is what was agreed."""
    texts = {unit["id"]: unit["result"] for unit in state["evidence_units"]}
    return DecisionResponse(
        content={unit: BinaryAnswer(0.9 if "AGREED" in texts[unit] else 0.02) for unit in questions}
    )


def every_few_turns(turns: int, min_saved_tokens: int | None) -> Prepare:
    """Compact before every so many turns, if that is worth it."""
    step = CompactContextStep(as_decision_model=what_was_agreed, token_counter=AdditiveTokenCounter(tokens_of))

    async def prepare(turn: int, history: list[Message]) -> list[Message]:
        if turn == 1 or (turn - 1) % turns:
            return history
        calls = [call["id"] for message in history for call in message.get("tool_calls", ())]
        response = await step(
            messages=history,
            format="openai_chat",
            goal=history[-1]["content"],
            source_refs={call_id: f"run-7/{call_id}" for call_id in calls},
            eligible_tool_names=["read_file"],
            options={"preserve_recent_pairs": FILES_A_TURN, "min_saved_tokens": min_saved_tokens},
        )
        proposal: list[Message] = response.answer["messages"]
        return proposal

    return prepare


WAYS: dict[str, Prepare] = {
    "never": never,
    "each turn, all but the last 4 results": by_recency,
    "reme-compact, every 2 turns": every_few_turns(2, None),
    "reme-compact, every 2 turns, min_saved_tokens 5000": every_few_turns(2, 5_000),
}


def agreed_in(history: list[Message]) -> int:
    """Return how many of the things that were agreed still stand in a history."""
    return sum("AGREED" in str(message["content"]) for message in history)


async def main() -> None:
    print("| cleared | input tokens | from the cache | price | still there of what was agreed |")
    print("|---|---|---|---|---|")
    for name, prepare in WAYS.items():
        meter = await run_agent(prepare)
        share = meter.from_cache / meter.tokens
        agreed = f"{agreed_in(meter.last)} of {len(AGREED_IN_TURNS)}"
        print(f"| {name} | {meter.tokens:,} | {share:.0%} | {meter.price:,.0f} | {agreed} |")


if __name__ == "__main__":
    asyncio.run(main())
