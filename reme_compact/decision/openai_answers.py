"""Probabilities as the OpenAI Decisions server sent them.

The SDK reads `"0.01"` and `false` as the numbers 0.01 and 0.0. A server that answers so does not answer with
probabilities, and what it says must not count, least of all `false` as "certainly not needed".
"""

from typing import Any


class ExactDecisions:
    """Stands in for a client's `decisions`; answers keep the probability that stands in the body, of whatever type."""

    def __init__(self, decisions: Any) -> None:
        self._decisions = decisions

    async def create(self, **request: Any) -> Any:
        """Ask the server, with the arguments of the SDK's `decisions.create`.

        Raises:
            Exception: what the SDK raises, or what reading a malformed body raises.

        """
        response = await self._decisions.with_raw_response.create(**request)
        decision = response.parse()
        sent = response.http_response.json()["answers"]
        for answer, exact in zip(decision.answers, sent, strict=True):
            if answer.type == "predicate":
                answer.probability = exact["probability"]
        return decision
