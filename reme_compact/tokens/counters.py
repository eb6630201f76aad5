"""Token counters: a function over a whole history, or one that adds up over messages or blocks."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from reme_compact.contract.errors import TokenCounterError
from reme_compact.contract.messages import Block, Message

OpaqueTokenCounter: TypeAlias = Callable[[list[Message]], int]
"""The model-input token count of a whole history."""


@dataclass(frozen=True, slots=True)
class AdditiveTokenCounter:
    """A token count that is a sum, so that replacing one result costs one message, or one block, to recount.

    Attributes:
        count_message: tokens of one message.
        constant: tokens of everything else (system prompt, tool schemas, framing).
        count_block: tokens of one content block. When given, `count_message(message)` must equal
            `count_message({**message, "content": []})` plus the sum of `count_block` over its content.
        name: shown in `stats.token_counter`.
        approximate: whether this is not the count of the host's own model.
    """

    count_message: Callable[[Message], int]
    constant: int = 0
    count_block: Callable[[Block], int] | None = None
    name: str = "host"
    approximate: bool = False


_SCALARS = frozenset({str, int, float, bool, type(None)})


@dataclass(frozen=True, slots=True)
class NamedTokenCounter:
    """A function over a whole history that was registered under a name.

    Attributes:
        function: the model-input token count of a whole history.
        name: shown in `stats.token_counter`.
        constant: tokens of everything else, added to every count.
        approximate: whether this is not the count of the host's own model.
    """

    function: OpaqueTokenCounter
    name: str
    constant: int = 0
    approximate: bool = True

    def __call__(self, messages: list[Message]) -> int:
        """Count a history."""
        return call_counter(self.function, messages) + self.constant


TokenCounter: TypeAlias = OpaqueTokenCounter | AdditiveTokenCounter


def check_count(value: Any) -> int:
    """Return a count that a counter returned.

    Raises:
        TokenCounterError: not an int, or negative.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise TokenCounterError(f"The token counter must return an int; it returned {type(value).__name__}.")
    if value < 0:
        raise TokenCounterError("The token counter returned a negative count.")
    return value


def call_counter(counter: Callable[[Any], Any], argument: Any) -> int:
    """Call a host's counter and check what it returns.

    Raises:
        TokenCounterError: the counter raised, or did not return a count. The message names the type of the
            exception only, since its text may quote message content; the exception itself is chained.
    """
    try:
        value = counter(argument)
    except TokenCounterError:
        raise
    except Exception as error:
        raise TokenCounterError(f"The token counter raised {type(error).__name__}.") from error
    return check_count(value)


def private_copy(value: Any) -> Any:
    """Copy every container of JSON data, so that a counter cannot reach the source or the proposal."""
    if isinstance(value, dict):
        copy = dict(value)
        for key, item in value.items():
            if type(item) not in _SCALARS:
                copy[key] = private_copy(item)
        return copy
    if isinstance(value, list):
        return [item if type(item) in _SCALARS else private_copy(item) for item in value]
    return value
