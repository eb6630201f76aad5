"""Operations as conversations: calls that are yielded and answers that are sent in, whoever carries them.

The synchronous client, the asynchronous one and the command line carry them in ways of their own.
"""

from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from reme_compact.client.answers import Answer
from reme_compact.client.sent import Sent

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call:
    """One call.

    Attributes:
        sent: what is sent.
        can_be_repeated: whether sending it again does nothing that the first did not do.
        default_seconds: for the answer, unless the caller says otherwise.
        accepts: statuses beyond success under which documents come that are no problems.

    """

    sent: Sent
    can_be_repeated: bool = True
    default_seconds: float = 60.0
    accepts: frozenset[int] = frozenset()


Conversation: TypeAlias = Generator[Call, Answer, T]
"""Yields calls, is sent their answers, and returns what came of it."""


def converse(conversation: Conversation[T], ask: Callable[[Call], Answer]) -> T:
    """Carry a conversation to its end."""
    try:
        call = next(conversation)
        while True:
            call = conversation.send(ask(call))
    except StopIteration as end:
        result: T = end.value
        return result
    finally:
        conversation.close()


async def converse_async(conversation: Conversation[T], ask: Callable[[Call], Awaitable[Answer]]) -> T:
    """Carry a conversation to its end; see `converse`."""
    try:
        call = next(conversation)
        while True:
            call = conversation.send(await ask(call))
    except StopIteration as end:
        result: T = end.value
        return result
    finally:
        conversation.close()
