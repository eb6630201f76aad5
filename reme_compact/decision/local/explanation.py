"""Say in a few words what made the local model judge a unit as it did."""

from reme_compact.decision.local.features import Features
from reme_compact.decision.local.weights import Weights

_SUPERSEDED = {
    "newer_same_input": "newer result for the same input",
    "same_result_later": "same text in a later result",
    "newer_same_target": "newer result for the same file or address",
}
_KEEPS = {
    "input_identifiers": "its input names what the task names",
    "linked_identifiers": "shares identifiers with results that match",
    "brevity": "too short to be judged by its words",
    "vague_task": "goal and next action say little",
    "next_action_missing": "no next action known",
    "goal_missing": "no goal known",
    "incomplete": "shown only in part",
    "context_incomplete": "task shown only in part",
}
_AVERAGE_STANDING = 0.5
_NAMED_AT_MOST = 2
_LEAST = 0.4
_LOW = 0.2


def explain(features: Features, weights: Weights) -> str:
    """Return the strongest reasons in words; they name features and quote nothing.

    How a unit stands among the others is compared with the average, since every unit has some standing.
    """
    reasons = _against(features, weights) if weights.probability(features) < _LOW else _in_favour(features, weights)
    return "; ".join(reasons[:_NAMED_AT_MOST])


def _against(features: Features, weights: Weights) -> list[str]:
    adds = weights.contributions(features)
    superseded = [text for name, text in _SUPERSEDED.items() if adds.get(name, 0.0) < 0]
    if features["newer_same_input"]:
        superseded = [text for text in superseded if text != _SUPERSEDED["newer_same_target"]]
    if features["standing"] < _AVERAGE_STANDING:
        return [*superseded, "shares less with the task than others"]
    return superseded or ["shares no more with the task than others"]


def _in_favour(features: Features, weights: Weights) -> list[str]:
    adds = weights.contributions(features)
    found = [(adds[name], text) for name, text in _KEEPS.items() if adds.get(name, 0.0) >= _LEAST]
    standing = weights.weights.get("standing", 0.0) * (features["standing"] - _AVERAGE_STANDING)
    if standing >= _LEAST:
        found.append((standing, "shares more with the task than others"))
    found.sort(key=lambda reason: -reason[0])
    return [text for _, text in found] or ["shares about as much with the task as others"]
