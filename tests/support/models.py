"""Decision models for tests."""

import asyncio
import hashlib
from collections.abc import Callable
from typing import Any

from reme_compact import BinaryAnswer, DecisionResponse

Answer = Callable[[dict[str, Any]], Any]


class ScriptedModel:
    """Answers each unit by a function of the unit, and remembers what it was asked."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.states: list[dict[str, Any]] = []
        self.asked: list[str] = []

    async def __call__(self, state: Any, questions: Any) -> DecisionResponse:
        self.states.append(state)
        self.asked.extend(questions)
        units = {unit["id"]: unit for unit in state["evidence_units"]}
        content = {name: self._answer(units[name]) for name in questions}
        return DecisionResponse({k: v for k, v in content.items() if v is not None}, usage={"input_tokens": 1})


def always(probability: Any) -> ScriptedModel:
    """Answer every question with the same probability."""
    return ScriptedModel(lambda _unit: BinaryAnswer(probability))


def by_hash() -> ScriptedModel:
    """Answer with a probability that depends on the unit only: many ties, some at the threshold, some invalid."""
    answers = [BinaryAnswer(p) for p in (0.0, 0.02, 0.02, 0.05, 0.1, 0.11, 0.5, 1.0)]
    odd: list[Any] = [BinaryAnswer(float("nan")), BinaryAnswer(1.5), BinaryAnswer(True), None, {"type": "refusal"}]

    def answer(unit: dict[str, Any]) -> Any:
        digest = hashlib.sha256(unit["result"].encode()).digest()
        return odd[digest[1] % len(odd)] if digest[0] < 32 else answers[digest[0] % len(answers)]

    return ScriptedModel(answer)


class HangingModel:
    """Never answers; tells when it was asked and whether it was cancelled."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.cancelled = 0

    async def __call__(self, state: Any, questions: Any) -> DecisionResponse:
        del state, questions
        self.asked.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        raise AssertionError("unreachable")
