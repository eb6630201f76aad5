"""Accept what a host offers as a decision model, or refuse it at once."""

import inspect
from typing import Any, Literal

from reme_compact.decision.agentscope import AgentScopeDecisionModel, is_agentscope_classifier
from reme_compact.decision.protocol import DecisionModel

_EXPECTED = "as_decision_model must be 'local', an AgentScope classifier, or awaitable as model(state, questions)"


def accept_decision_model(model: DecisionModel | Literal["local"]) -> DecisionModel:
    """Return something that can be awaited as `model(state, questions)`.

    A synchronous function is accepted, since it may return an awaitable; if it does not, that is reported with the
    first request and every result is kept.

    Raises:
        TypeError: not callable, a class, a generator function, or not callable with two arguments.
    """
    if isinstance(model, str):
        if model == "local":
            from reme_compact.decision.local import LocalDecisionModel  # noqa: PLC0415 - paid for by who uses it

            return LocalDecisionModel()
        raise TypeError(f"{_EXPECTED}; got the text {model!r}.")
    if is_agentscope_classifier(model):
        return AgentScopeDecisionModel(model)
    if isinstance(model, type):
        raise TypeError(f"{_EXPECTED}; got the class {model.__name__}, not an instance of it.")
    if not callable(model):
        raise TypeError(f"{_EXPECTED}; got {type(model).__name__}.")
    if inspect.isgeneratorfunction(model) or inspect.isasyncgenfunction(model):
        raise TypeError(f"{_EXPECTED}; got a generator function.")
    _check_arguments(model)
    return model


def describe(model: DecisionModel) -> dict[str, str | None]:
    """Return backend and model name of any accepted decision model."""
    backend = getattr(model, "backend", None)
    if isinstance(backend, str):
        name = getattr(model, "model_name", None)
        return {"backend": backend, "model": name if isinstance(name, str) else None}
    name = getattr(model, "__qualname__", type(model).__qualname__)
    return {"backend": "host", "model": str(name)}


def _check_arguments(model: Any) -> None:
    try:
        signature = inspect.signature(model)
    except (TypeError, ValueError):
        # Some callables (built in, mocked) cannot be looked into; they are given the benefit of the doubt.
        return
    try:
        signature.bind({}, {})
    except TypeError:
        raise TypeError(f"{_EXPECTED}; {describe(model)['model']} does not take these two arguments.") from None
