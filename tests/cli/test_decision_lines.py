import pytest
from hypothesis import given
from hypothesis import strategies as st

from reme_compact.cli.decision_lines import probability_text


@pytest.mark.parametrize(
    ("probability", "threshold", "text"),
    [
        (0.02, 0.1, "0.020"),
        (0.1, 0.1, "0.100"),
        (0.1004, 0.1, "0.1004"),
        (0.099591, 0.1, "0.0996"),
        (0.1000001, 0.1, "0.1000001"),
        (0.00001, 0, "0.00001"),
        (1, 0.1, "1.000"),
        (0.12345, 0.12345, "0.12345"),
    ],
)
def test_as_many_digits_as_the_threshold_asks_for(probability: float, threshold: float, text: str) -> None:
    assert probability_text(probability, threshold) == text


probabilities = st.floats(0, 1)


@given(probabilities, probabilities)
def test_what_is_shown_is_on_the_side_of_the_threshold_that_decided(probability: float, threshold: float) -> None:
    shown = float(probability_text(probability, threshold))
    assert (shown > threshold, shown < threshold) == (probability > threshold, probability < threshold)
