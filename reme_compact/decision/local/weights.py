"""Read the fixed weights, and turn features into a probability with them.

The weights stand in `weights.json`, apart from the features, so that they can be fitted again without touching
code: `match` adds up to a unit's match, `bias` and `weights` to a score, and `mapping` turns the score into a
probability that is never quite 0 or 1.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

import orjson

from reme_compact.decision.local.features import FEATURES, MATCH_FEATURES, Features

_DECIMALS = 6


@dataclass(frozen=True, slots=True)
class Weights:
    """The fixed numbers of the local model.

    Attributes:
        version: changes with every refit.
        match: weight of each of the `MATCH_FEATURES`.
        bias: score of a unit without any feature.
        weights: what each of the `FEATURES` adds to the score.
        slope: steepness of the mapping from score to probability.
        floor: smallest probability given.
        ceiling: largest probability given.
    """

    version: int
    match: Mapping[str, float]
    bias: float
    weights: Mapping[str, float]
    slope: float
    floor: float
    ceiling: float

    def __post_init__(self) -> None:
        unknown = sorted({*self.match} - {*MATCH_FEATURES} | {*self.weights} - {*FEATURES})
        if unknown:
            raise ValueError(f"weights for features that do not exist: {', '.join(unknown)}")

    def contributions(self, features: Features) -> dict[str, float]:
        """Return what each feature adds to the score of a unit."""
        return {name: weight * features[name] for name, weight in self.weights.items()}

    def probability(self, features: Features) -> float:
        """Return the probability, 0..1, that a unit with these features is still needed."""
        score = math.fsum([self.bias, *self.contributions(features).values()])
        raw = 1 / (1 + math.exp(-max(-50.0, min(50.0, self.slope * score))))
        # Rounded, because the last digits of exp and log differ between platforms.
        return round(max(self.floor, min(self.ceiling, raw)), _DECIMALS)


@lru_cache(maxsize=1)
def fixed_weights() -> Weights:
    """Read the weights that come with the package."""
    data = orjson.loads(files("reme_compact.decision.local").joinpath("weights.json").read_bytes())
    return Weights(
        version=data["version"], match=data["match"], bias=data["bias"], weights=data["weights"], **data["mapping"]
    )
