"""Which token counter serves a request."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from reme_compact.contract.errors import InvalidRequestError
from reme_compact.contract.request import CompactionRequest
from reme_compact.contract.validation import unknown_name
from reme_compact.tokens.counters import AdditiveTokenCounter, NamedTokenCounter, TokenCounter
from reme_compact.tokens.registry import build_token_counter

TokenCounterFactory: TypeAlias = Callable[[], TokenCounter]


class CounterChoice:
    """The counters that one step knows.

    Args:
        own: the host's counter, or the name of a backend of `build_token_counter`.
        registered: factories by the name that a request may use.
        default: the registered counter for requests that name none.

    Raises:
        TypeError: `own` is no counter.
        ConfigurationError: `own` is a name that leads to no counter.
    """

    def __init__(
        self, own: TokenCounter | str | None, registered: Mapping[str, TokenCounterFactory], default: str | None
    ) -> None:
        if isinstance(own, str):
            own = build_token_counter(own)
        if own is not None and not _is_counter(own):
            raise TypeError(
                "token_counter must be a synchronous function over messages, an AdditiveTokenCounter, or the name of "
                "a backend such as 'estimate'."
            )
        self._own = own
        self._registered = dict(registered)
        self._default = default

    def check(self, request: CompactionRequest) -> None:
        """Tell whether there is a counter for a request, without building it.

        Raises:
            InvalidRequestError: the named counter is not registered, or a budget has no counter.
        """
        self._name_for(request)

    def for_request(self, request: CompactionRequest) -> TokenCounter | None:
        """Return the counter that a request names, else the host's for a budget, else the registered default.

        Raises:
            InvalidRequestError: the named counter is not registered, or a budget has no counter.
            ConfigurationError: a registered counter cannot be built.
        """
        name = self._name_for(request)
        if name is not None:
            return self._registered[name]()
        return self._own if _option_to_count(request) is not None else None

    def _name_for(self, request: CompactionRequest) -> str | None:
        """Return the registered counter that serves a request; null: the host's own, or none."""
        name = request.token_counter
        if name is None:
            if self._own is not None:
                return None
            name = self._default
        if name in self._registered:
            return name
        if name is not None:
            raise _refused("token_counter", self._unknown(name))
        if (option := _option_to_count(request)) is not None:
            message = "needs a token counter: construct the step with token_counter=..., or name a registered one"
            raise _refused(f"options.{option}", message)
        return None

    def _unknown(self, name: str) -> str:
        if self._registered:
            return unknown_name("token counter", name, list(self._registered))
        return "no token counter is registered here; construct the step with token_counter=... instead"


def describe_counter(counter: TokenCounter) -> dict[str, Any]:
    """Return name and kind of a counter, for `stats.token_counter`."""
    if isinstance(counter, AdditiveTokenCounter | NamedTokenCounter):
        return {"name": counter.name, "approximate": counter.approximate}
    return {"name": "host", "approximate": False}


def _option_to_count(request: CompactionRequest) -> str | None:
    """Return the name of an option that needs a token counter, if the request sets one."""
    options = request.options
    for name in ("max_output_tokens", "min_saved_tokens"):
        if getattr(options, name) is not None:
            return name
    return None


def _refused(path: str, message: str) -> InvalidRequestError:
    return InvalidRequestError([{"path": path, "message": message}])


def _is_counter(counter: object) -> bool:
    if inspect.iscoroutinefunction(counter):
        return False
    return callable(counter) or isinstance(counter, AdditiveTokenCounter)
