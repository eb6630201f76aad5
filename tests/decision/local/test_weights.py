import dataclasses

import pytest

from reme_compact.decision.local.features import FEATURES
from reme_compact.decision.local.weights import fixed_weights

NOTHING = dict.fromkeys(FEATURES, 0.0)


def test_the_packaged_weights_name_existing_features_only() -> None:
    assert set(fixed_weights().weights) <= set(FEATURES)


def test_a_weight_for_an_unknown_feature_is_refused() -> None:
    with pytest.raises(ValueError, match="no_such_feature"):
        dataclasses.replace(fixed_weights(), weights={"no_such_feature": 1.0})


def test_a_probability_is_never_quite_certain() -> None:
    weights = fixed_weights()
    certain = dataclasses.replace(weights, bias=1e9)
    assert certain.probability(NOTHING) == weights.ceiling < 1
    assert dataclasses.replace(weights, bias=-1e9).probability(NOTHING) == weights.floor > 0


@pytest.mark.parametrize("feature", ["incomplete", "vague_task", "goal_missing", "next_action_missing"])
def test_uncertainty_never_lowers_a_probability(feature: str) -> None:
    weights = dataclasses.replace(fixed_weights(), bias=0.0)
    assert weights.probability({**NOTHING, feature: 1.0}) > weights.probability(NOTHING)
