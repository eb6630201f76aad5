"""Token counters: a function over a whole history, or one that adds up over messages or blocks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from reme_compact.contract.errors import TokenCounterError
from reme_compact.contract.messages import Block, Message

OpaqueTokenCounter: TypeAlias = Callable[[list[Message]], int]
"""The model-input token count of a whole history."""


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


@dataclass(frozen=True, slots=True)
class AdditiveTokenCounter:
    """A token count that is a sum, so that replacing one result costs one message, or one block, to recount.

    Attributes:
        count_message: tokens of one message.
        constant: tokens of everything else (system prompt, tool schemas, framing).
        count_block: tokens of one content block. When given, `count_message(message)` must equal
            `count_message({**message, "content": []})` plus the sum of `count_block` over its content.
        count_blocks: many blocks at once, equal to `count_block` on each, for counters that are faster that way.
        counts_view: whether it counts a history of any format in AgentScope's structure; else it is given messages in
            the format in which they came.
        reads_only: whether it never changes what it is given, so that it needs no private copy.
        name: shown in `stats.token_counter`.
        approximate: whether this is not the count of the host's own model.
    """

    count_message: Callable[[Message], int]
    constant: int = 0
    count_block: Callable[[Block], int] | None = None
    count_blocks: Callable[[Sequence[Block]], Sequence[int]] | None = None
    counts_view: bool = False
    reads_only: bool = False
    name: str = "host"
    approximate: bool = False

    def __post_init__(self) -> None:
        """Check the constant.

        Raises:
            TokenCounterError: it is not an int, or negative.
        """
        constant: Any = self.constant
        if isinstance(constant, bool) or not isinstance(constant, int) or constant < 0:
            raise TokenCounterError("The constant of a token counter must be an int from 0 up.")


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


def call_counter(counter: Callable[[Any], Any], argument: Any) -> int:
    """Call a host's counter and check what it returns.

    Raises:
        TokenCounterError: the counter raised, or did not return a count. The message names the type of the
            exception only, since its text may quote message content; the exception itself is chained.
    """
    return check_count(_call(counter, argument))


def call_counters(counter: Callable[[Any], Any], blocks: Sequence[Block]) -> list[int]:
    """Call a host's counter of many blocks and check what it returns.

    Raises:
        TokenCounterError: as with `call_counter`, or it did not return one count per block.
    """
    counts = _call(counter, blocks)
    if not isinstance(counts, list | tuple) or len(counts) != len(blocks):
        raise TokenCounterError("A counter of many blocks must return one count per block, as a list.")
    return [check_count(count) for count in counts]


def _call(counter: Callable[[Any], Any], argument: Any) -> Any:
    try:
        return counter(argument)
    except (TokenCounterError, KeyboardInterrupt):
        raise
    except BaseException as error:  # tokenizers written in Rust panic with one, and sys.exit() is one
        raise TokenCounterError(f"The token counter raised {type(error).__name__}.") from error
