"""Read what a state says about the work ahead: the words and identifiers to look for in the evidence."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reme_compact.decision.local.terms import identifiers, readable, words

_CONTEXT_FADES = 0.6
_MAX_IDENTIFIERS = 160


@dataclass(frozen=True, slots=True)
class Task:
    """Goal, next action and recent text as terms.

    Attributes:
        goal: distinct words of the goal.
        next_action: distinct words of the next action.
        recent: words of the task context, with a weight that fades from 1 with the age of the text.
        identifiers: identifiers of all three, with weights; at most 160, next action and goal first.
        complete: whether the state holds the whole task context.
    """

    goal: frozenset[str]
    next_action: frozenset[str]
    recent: Mapping[str, float]
    identifiers: Mapping[str, float]
    complete: bool


def read_task(state: Mapping[str, Any]) -> Task:
    """Read the task of a state; whatever is missing or of another type counts as absent."""
    goal, next_action = text_of(state, "goal"), text_of(state, "next_action")
    recent: dict[str, float] = {}
    named = dict.fromkeys([*identifiers(next_action), *identifiers(goal)], 1.0)
    weight = 1.0
    for entry in reversed(objects_of(state, "task_context")):
        text = text_of(entry, "text")
        for word in words(text):
            recent.setdefault(word, weight)
        for name in identifiers(text):
            named.setdefault(name, weight)
        weight *= _CONTEXT_FADES
    return Task(
        goal=frozenset(words(goal)),
        next_action=frozenset(words(next_action)),
        recent=recent,
        identifiers=dict(list(named.items())[:_MAX_IDENTIFIERS]),
        complete=state.get("task_context_complete") is not False,
    )


def text_of(fields: Mapping[str, Any], key: str) -> str:
    """Return a text field, shortened if it is extremely long; empty if it is missing or not text."""
    value = fields.get(key)
    return readable(value) if isinstance(value, str) else ""


def objects_of(fields: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    """Return the objects of a list field; empty if it is missing or not a list."""
    value = fields.get(key)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
