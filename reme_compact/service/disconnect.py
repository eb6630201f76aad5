"""Stop working for a client that has gone."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from anyio import CancelScope, create_task_group
from starlette.types import Receive

Result = TypeVar("Result")


class ClientGoneError(Exception):
    """The client closed its connection; there is nobody left to answer."""


async def while_connected(receive: Receive, work: Callable[[], Awaitable[Result]]) -> Result:
    """Do some work, and cancel it if the client disconnects meanwhile.

    Args:
        receive: the ASGI channel of a request whose body was read completely.
        work: what to do; it is awaited to its end also after its cancellation.

    Raises:
        ClientGoneError: the client disconnected first.

    """
    outcome: list[Result] = []
    failure: Exception | None = None
    async with create_task_group() as tasks:
        tasks.start_soon(_cancel_on_disconnect, receive, tasks.cancel_scope)
        try:
            outcome.append(await work())
        except Exception as error:  # noqa: BLE001 - kept out of the task group, which would wrap it in a group
            failure = error
        tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure
    if not outcome:
        raise ClientGoneError
    return outcome[0]


async def _cancel_on_disconnect(receive: Receive, scope: CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()
