"""Measure each evidence unit of one state against the task: a few numbers per unit, all of them 0..1.

Everything is relative to the state at hand: a word or an identifier counts by how rare it is among the units of
this state. The cost is linear in the units.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from reme_compact.decision.local.task import Task, objects_of, read_task, text_of
from reme_compact.decision.local.terms import contains, identifiers, names, words

MATCH_FEATURES = ("next_words", "goal_words", "recent_words", "task_identifiers", "input_identifiers")
"""How much a unit shares with the task; weighed together they are its match."""

FEATURES = (
    *MATCH_FEATURES,
    "standing",
    "linked_identifiers",
    "newer_same_input",
    "newer_same_target",
    "same_result_later",
    "brevity",
    "incomplete",
    "vague_task",
    "goal_missing",
    "next_action_missing",
    "context_incomplete",
)
"""Names of all numbers."""

Features = dict[str, float]

_LEADERS = 3
_SHORTEST_LINK = 4
_STANDING_FLOOR = 0.15
_BRIEF = 300
_ENOUGH_WORDS = 8


@dataclass(slots=True)
class _Unit:
    """One evidence unit, read once."""

    fields: Mapping[str, Any]
    text: str
    result_length: int
    words: Set[str]
    names: Set[str]
    input_identifiers: Sequence[str]
    identifiers: Sequence[str]
    features: Features = field(default_factory=dict)
    match: float = 0.0


def measure(
    state: Mapping[str, Any], match_weights: Mapping[str, float], between_units: Callable[[], object] = lambda: None
) -> dict[str, Features]:
    """Return the features of every evidence unit, by the unit's id.

    Args:
        state: as the decision protocol describes it; whatever is missing or of another type counts as absent.
        match_weights: how the `MATCH_FEATURES` add up to a unit's match, to which other units are compared.
        between_units: called again and again; may raise to end the work.
    """
    task = read_task(state)
    units = []
    for fields in objects_of(state, "evidence_units"):
        between_units()
        units.append(_read_unit(fields, task))
    _measure_match(units, task, match_weights)
    _measure_standing(units)
    _measure_links(units, task)
    for unit in units:
        unit.features.update(_facts(unit, task))
    return {text_of(unit.fields, "id"): unit.features for unit in units}


def _read_unit(fields: Mapping[str, Any], task: Task) -> _Unit:
    tool_input, result = text_of(fields, "input"), text_of(fields, "result")
    folded_input, folded_result = tool_input.lower(), result.lower()
    in_input = [name for name in task.identifiers if contains(folded_input, name)]
    known = set(in_input)
    in_result = [name for name in task.identifiers if name not in known and contains(folded_result, name)]
    return _Unit(
        fields=fields,
        text=f"{tool_input}\n{result}",
        result_length=len(result),
        words=words(tool_input) | words(result) | words(text_of(fields, "tool")),
        names=names(folded_input) | names(folded_result),
        input_identifiers=in_input,
        identifiers=in_input + in_result,
    )


def _measure_match(units: Sequence[_Unit], task: Task, weights: Mapping[str, float]) -> None:
    wanted = task.goal | task.next_action | task.recent.keys()
    rarity = _rarity((unit.words & wanted for unit in units), len(units))
    rarity_of_name = _rarity((unit.identifiers for unit in units), len(units))
    for unit in units:
        unit.features.update(
            next_words=_saturated((rarity[word] for word in unit.words & task.next_action), 3),
            goal_words=_saturated((rarity[word] for word in unit.words & task.goal), 3),
            recent_words=_saturated((rarity[word] * task.recent[word] for word in unit.words & task.recent.keys()), 3),
            task_identifiers=_saturated(
                (rarity_of_name[name] * task.identifiers[name] for name in unit.identifiers), 1
            ),
            input_identifiers=_saturated(
                (rarity_of_name[name] * task.identifiers[name] for name in unit.input_identifiers), 1
            ),
        )
        unit.match = math.fsum(weight * unit.features[name] for name, weight in weights.items())


def _measure_standing(units: Sequence[_Unit]) -> None:
    """Compare each match with the average one: 0.5 is average, 0 is far below it.

    A task that hardly matches anything says little about any unit, and then all of them stand near the middle.
    """
    average = math.fsum(unit.match for unit in units) / max(1, len(units))
    for unit in units:
        ours = unit.match + _STANDING_FLOOR
        unit.features["standing"] = ours / (ours + average + _STANDING_FLOOR)


def _measure_links(units: Sequence[_Unit], task: Task) -> None:
    """Find identifiers that a unit shares with the units that match best.

    A result may be needed though it shares nothing with the task itself, because a result that does match names
    the same order, process or host.
    """
    order = sorted(range(len(units)), key=lambda index: (-units[index].match, index))
    source: dict[str, int] = {}
    for index in order[:_LEADERS]:
        for name in identifiers(units[index].text):
            if len(name) >= _SHORTEST_LINK and name not in task.identifiers:
                source.setdefault(name, index)
    rarity = _rarity((unit.names & source.keys() for unit in units), len(units))
    for index, unit in enumerate(units):
        shared = (rarity[name] for name in unit.names & source.keys() if source[name] != index)
        unit.features["linked_identifiers"] = _saturated(shared, 1)


def _facts(unit: _Unit, task: Task) -> Features:
    fields = unit.fields
    shown_in_part = fields.get("result_complete") is False or fields.get("input_complete") is False
    return {
        "newer_same_input": float(_is_positive(fields.get("newer_results_for_same_input"))),
        "newer_same_target": float(_is_positive(fields.get("newer_results_for_same_target"))),
        "same_result_later": float(fields.get("same_result_later") is True),
        "brevity": max(0.0, 1 - unit.result_length / _BRIEF),
        "incomplete": float(shown_in_part),
        "vague_task": 1 - min(1.0, len(task.goal | task.next_action) / _ENOUGH_WORDS),
        "goal_missing": float(not task.goal),
        "next_action_missing": float(not task.next_action),
        "context_incomplete": float(not task.complete),
    }


def _rarity(holders: Iterable[Iterable[str]], total: int) -> dict[str, float]:
    """Return, per term, 1 where a single unit holds it, down to nearly 0 where all do."""
    counts = Counter(term for terms in holders for term in terms)
    scale = math.log((total + 1) / 1.5)
    if total < 2:
        return dict.fromkeys(counts, 1.0)
    return {term: math.log((total + 1) / (count + 0.5)) / scale for term, count in counts.items()}


def _saturated(parts: Iterable[float], scale: float) -> float:
    """Add parts up to a number below 1; the sum is exact, so its order, and thus hashing, does not matter."""
    return 1 - math.exp(-math.fsum(parts) / scale)


def _is_positive(value: Any) -> bool:
    return isinstance(value, int) and value > 0
