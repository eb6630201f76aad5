"""Ask a decision model about one batch; whatever it does, an outcome comes back."""

import asyncio
import inspect
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from reme_compact.contract.errors import DecisionModelError
from reme_compact.contract.exception_places import exception_places
from reme_compact.decision.answers import usage_of
from reme_compact.decision.batching import Batch
from reme_compact.decision.failures import classify_failure
from reme_compact.decision.outcome import BatchOutcome
from reme_compact.decision.protocol import DecisionModel
from reme_compact.decision.verdicts import read_answer
from reme_compact.history.private_copy import private_copy

UNUSABLE = DecisionModelError(
    "The decision model answered, but with no probability for any result.", code="invalid_answer"
)
_USAGE_WARNING = "The decision model reported a usage that is not JSON; it is left out of stats.usage."

_log = logging.getLogger(__name__)


async def ask(model: DecisionModel, batch: Batch, *, is_cancelled: Callable[[], bool] = lambda: False) -> BatchOutcome:
    """Ask about one batch and read what comes back.

    Args:
        model: a stranger's code: it may raise anything, answer anything, and cancel itself.
        batch: what to ask.
        is_cancelled: tells whether a cancellation comes from outside; any other is the model's own and a failure.

    Raises:
        asyncio.CancelledError: the cancellation came from outside.
    """
    loop = asyncio.get_running_loop()
    began = loop.time()
    outcome = await _ask(model, batch, is_cancelled)
    return replace(outcome, seconds=loop.time() - began)


async def _ask(model: DecisionModel, batch: Batch, is_cancelled: Callable[[], bool]) -> BatchOutcome:
    try:
        # The model gets copies: what it does to them must not reach other batches or the accounting.
        awaitable = model(private_copy(batch.state), batch.questions())
        if not inspect.isawaitable(awaitable):
            raise DecisionModelError(
                f"The decision model must return an awaitable; it returned {type(awaitable).__name__}.",
                code="invalid_decision_model",
                fatal=True,
            )
        response = await awaitable
    except (asyncio.CancelledError, GeneratorExit):
        if is_cancelled():
            raise
        return failed(DecisionModelError("The decision model cancelled its own request.", code="cancelled"))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - a stranger's code; whatever it raises means keep
        return failed(_classified(error), cause=error)
    return _read(batch, response)


def failed(error: DecisionModelError, *, cause: BaseException | None = None) -> BatchOutcome:
    """Log a failure, its place included but none of its text, and return it as an outcome."""
    fields = error.fields()
    where = f": {exception_places(cause)}" if cause is not None else ""
    _log.warning("A decision request failed: %s (%s)%s", fields["message"], fields["code"], where)
    return BatchOutcome(error=fields, fatal=error.fatal)


def _read(batch: Batch, response: Any) -> BatchOutcome:
    try:
        content = response.content
        verdicts = {unit: read_answer(content.get(unit)) for unit in batch.unit_ids}
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - as above
        return failed(_unreadable(response, error), cause=error)
    try:
        outcome = BatchOutcome(verdicts, usage_of(getattr(response, "usage", None)))
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - as above
        outcome = BatchOutcome(verdicts, warning=_USAGE_WARNING)
    if not outcome.has_probability:
        _log.warning("A decision request brought nothing: %s", UNUSABLE.message)
    return outcome


def _classified(error: BaseException) -> DecisionModelError:
    """Name a failure; looking at a stranger's exception may itself fail."""
    try:
        return classify_failure(error)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - as above
        return DecisionModelError(f"The decision model failed ({type(error).__name__}).")


def _unreadable(response: Any, error: BaseException) -> DecisionModelError:
    """Say what was wrong with a response as a whole."""
    kind = type(response).__name__
    return DecisionModelError(
        f"The decision model must return a DecisionResponse, or anything with answers by question name in .content; "
        f"it returned {kind} ({type(error).__name__}).",
        code="invalid_response",
    )
