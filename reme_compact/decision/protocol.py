"""What a decision model is: anything awaitable that answers named binary questions about a state.

A model is called as `model(state, questions)`. `state` is plain JSON data:

    {"instructions": str,                       # how every question is meant; stated once
     "goal": str, "next_action": str,           # absent when unknown
     "task_context": [{"role": str, "text": str}],
     "task_context_complete": bool,
     "evidence_units": [{"id": "t7", "tool": str, "input": str, "input_complete": bool,
                         "result": str, "result_complete": bool, "result_chars": int,
                         # only where true or above zero, seen over the whole history:
                         "same_result_later": True,
                         "newer_results_for_same_input": int,
                         "newer_results_for_same_target": int}]}

`questions` maps each unit's id to `{"type": "binary", "instructions": str}`. The answer offers `.content`, a
mapping from question name to an answer with `type` "binary_answer" and `probability` (attributes or keys), and
`.usage`.
"""

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias, TypedDict, runtime_checkable


class BinaryQuestion(TypedDict):
    """A question whose answer is a probability."""

    type: Literal["binary"]
    instructions: str


State: TypeAlias = dict[str, Any]
Questions: TypeAlias = Mapping[str, BinaryQuestion]


@dataclass(frozen=True, slots=True)
class BinaryAnswer:
    """The probability, 0..1, that the answer to a binary question is yes.

    Attributes:
        probability: of yes.
        type: kind of answer.
        explanation: why, in a few words, for people; shown in `stats.explanations`. It must not quote content.
    """

    probability: float
    type: Literal["binary_answer"] = "binary_answer"
    explanation: str | None = None


@dataclass(frozen=True, slots=True)
class DecisionResponse:
    """Answers by question name, and what the request used (JSON, a dataclass or null)."""

    content: Mapping[str, Any]
    usage: Any = None
    model: str | None = None


class AnswersQuestions(Protocol):
    """What comes back from a decision model."""

    @property
    def content(self) -> Mapping[str, Any]:
        """Answers by question name."""

    @property
    def usage(self) -> Any:
        """What the request used."""


class DecisionModel(Protocol):
    """Anything awaitable as `model(state, questions)`."""

    def __call__(self, state: State, questions: Questions, /) -> Awaitable[AnswersQuestions]:
        """Answer every question about the state."""


@runtime_checkable
class OwnedDecisionModel(Protocol):
    """A decision model that was built from a preset, is described in `/ready` and has to be closed."""

    backend: str
    model_name: str | None

    def __call__(self, state: State, questions: Questions, /) -> Awaitable[AnswersQuestions]:
        """Answer every question about the state."""

    async def aclose(self) -> None:
        """Release connections; harmless when called twice."""
