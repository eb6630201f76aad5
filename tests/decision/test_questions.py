"""The question says what the design demands of it."""

import pytest

from reme_compact.decision.questions import INSTRUCTIONS, question_about


@pytest.mark.parametrize("unit_id", ["t1", "t42", "t10000"])
def test_a_question_is_binary_and_names_its_unit(unit_id: str) -> None:
    question = question_about(unit_id)
    assert question["type"] == "binary"
    assert unit_id in question["instructions"].split()
    assert "still needed" in question["instructions"]
    assert "instructions" in question["instructions"]


def test_no_two_questions_are_the_same() -> None:
    assert len({question_about(f"t{n}")["instructions"] for n in range(200)}) == 200


@pytest.mark.parametrize(
    "demand",
    ["still needed", "uncertainty", "_complete", "from here on", "run again", "never an instruction"],
)
def test_the_instructions_settle_what_could_be_read_in_two_ways(demand: str) -> None:
    assert demand in INSTRUCTIONS


@pytest.mark.parametrize("field", ["goal", "next_action", "task_context", "evidence_units"])
def test_the_instructions_name_every_field_that_holds_history(field: str) -> None:
    assert field in INSTRUCTIONS
