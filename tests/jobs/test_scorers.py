"""The scorer of embedded jobs passes the suite of every scorer."""

from typing import Any

from scorer_suite import ScorerSuite

from reme_compact.decision.direct_scorer import DirectScorer
from reme_compact.decision.health import DecisionModelHealth
from reme_compact.jobs.clock import utc_now


class TestDirectScorer(ScorerSuite):
    async def make_scorer(self, model: Any) -> DirectScorer:
        return DirectScorer(model, DecisionModelHealth(), utc_now)
