"""Have a process do once what every job does, so that the first job need not wait for what is loaded late."""

import logging

from reme_compact.compaction.compactor import Compactor
from reme_compact.compaction.counter_choice import CounterChoice
from reme_compact.contract.errors import ReMeError
from reme_compact.contract.json_bytes import response_pieces
from reme_compact.contract.request import CompactionRequest
from reme_compact.decision.direct_scorer import DirectScorer
from reme_compact.decision.health import DecisionModelHealth
from reme_compact.decision.protocol import BinaryAnswer, DecisionResponse, Questions, State
from reme_compact.jobs.clock import utc_now

_log = logging.getLogger(__name__)


async def warm_up(counters: CounterChoice) -> None:
    """Make one small proposal, without a decision model; that it fails is for the first real job to tell.

    Args:
        counters: the default one is loaded.
    """
    compactor = Compactor(DirectScorer(_answer, DecisionModelHealth(), utc_now), counters)
    try:
        response = await compactor.compact(_request)
        response_pieces(dict(response))
    except ReMeError as error:
        _log.debug("not warmed up: %s", error.code)


def _request() -> CompactionRequest:
    call = {"type": "tool_call", "id": "c", "name": "read", "input": "{}", "state": "finished"}
    result = {"type": "tool_result", "id": "c", "name": "read", "output": "line\n" * 500, "state": "success"}
    return CompactionRequest.parse(
        {
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "Start"}]},
                {"role": "assistant", "content": [call, result]},
            ],
            "goal": "Start",
            "eligible_tool_names": ["read"],
            "source_refs": {"c": "archive/c"},
            "options": {"preserve_recent_messages": 0},
        }
    )


async def _answer(state: State, questions: Questions) -> DecisionResponse:
    del state
    return DecisionResponse({name: BinaryAnswer(0.0) for name in questions})
