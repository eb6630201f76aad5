"""What a decision request brought, as data."""

import json

from reme_compact.contract.errors import DecisionModelError
from reme_compact.decision.outcome import BatchOutcome
from reme_compact.decision.verdicts import Verdict


def test_what_is_written_is_read_again_with_how_long_it_took() -> None:
    for outcome in (
        BatchOutcome({"t1": Verdict(probability=0.5)}, usage={"input_tokens": 1}, seconds=0.25),
        BatchOutcome(error=DecisionModelError("Why.").fields(), fatal=True, warning="Odd."),
    ):
        read = BatchOutcome.from_json(json.loads(json.dumps(outcome.as_json())))
        assert read == outcome
        assert read.seconds == outcome.seconds


def test_how_long_it_took_makes_no_other_outcome() -> None:
    assert BatchOutcome(seconds=1) == BatchOutcome(seconds=2)


def test_what_an_earlier_version_wrote_is_read() -> None:
    data = BatchOutcome().as_json()
    del data["seconds"]
    assert BatchOutcome.from_json(data) == BatchOutcome()
