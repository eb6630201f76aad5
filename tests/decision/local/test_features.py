from typing import Any

import pytest
from evidence_states import FILLER, state, unit

from reme_compact.decision.local.features import FEATURES, Features, measure
from reme_compact.decision.local.weights import fixed_weights


def measured(**values: Any) -> dict[str, Features]:
    return measure(values, fixed_weights().match)


def test_every_feature_is_a_number_from_0_to_1() -> None:
    units = [unit("t1", "retry.py retries the payment", '{"path": "retry.py"}'), unit("t2", FILLER), unit("t3", "")]
    for features in measured(**state(*units, goal="fix payment retries", next_action="edit retry.py")).values():
        assert set(features) == set(FEATURES)
        assert all(0 <= value <= 1 for value in features.values())


def test_a_word_that_few_units_hold_counts_more_than_one_that_all_hold() -> None:
    units = [unit(f"t{n}", "orders service log") for n in range(1, 6)]
    units[0]["result"] += " deadlock"
    found = measured(**state(*units, goal="deadlock in orders"))
    assert found["t1"]["goal_words"] > 2 * found["t2"]["goal_words"]


def test_an_identifier_in_the_input_counts_as_named_and_as_target() -> None:
    units = [unit("t1", FILLER, '{"path": "src/retry.py"}'), unit("t2", f"{FILLER} src/retry.py"), unit("t3", FILLER)]
    found = measured(**state(*units, next_action="edit src/retry.py"))
    assert found["t1"]["input_identifiers"] > 0 == found["t2"]["input_identifiers"]
    assert found["t1"]["task_identifiers"] > 0 < found["t2"]["task_identifiers"]
    assert found["t3"]["task_identifiers"] == 0


def test_newer_context_counts_more_than_older() -> None:
    units = [unit("t1", "the parcel label printer"), unit("t2", "the invoice template")]
    context = [{"role": "user", "text": "parcel printer"}, {"role": "user", "text": "invoice template"}]
    found = measured(**state(*units, goal="go on", task_context=context))
    assert found["t2"]["recent_words"] > found["t1"]["recent_words"] > 0


def test_a_result_is_linked_by_what_it_shares_with_a_matching_one() -> None:
    units = [
        unit("t1", "order 48213 was charged by process worker-71x"),
        unit("t2", f"worker-71x started on host h9. {FILLER}"),
        unit("t3", FILLER),
    ]
    found = measured(**state(*units, next_action="explain the charge of order 48213"))
    assert found["t2"]["linked_identifiers"] > 0 == found["t3"]["linked_identifiers"]


def test_a_match_above_the_average_stands_higher_and_no_match_at_all_leaves_all_in_the_middle() -> None:
    units = [unit("t1", "payment retry"), unit("t2", FILLER)]
    found = measured(**state(*units, goal="payment retry"))
    assert found["t1"]["standing"] > 0.5 > found["t2"]["standing"]
    found = measured(**state(*units, goal="zebra"))
    assert found["t1"]["standing"] == found["t2"]["standing"] == 0.5


@pytest.mark.parametrize(
    ("fact", "feature"),
    [
        ({"newer_results_for_same_input": 2}, "newer_same_input"),
        ({"newer_results_for_same_target": 1}, "newer_same_target"),
        ({"same_result_later": True}, "same_result_later"),
        ({"result_complete": False}, "incomplete"),
        ({"input_complete": False}, "incomplete"),
    ],
)
def test_facts_of_the_state_are_taken_over(fact: dict[str, Any], feature: str) -> None:
    found = measured(**state(unit("t1", FILLER, **fact), unit("t2", FILLER), goal="goal"))
    assert (found["t1"][feature], found["t2"][feature]) == (1, 0)
