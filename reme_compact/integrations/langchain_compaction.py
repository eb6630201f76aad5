"""Compaction for LangChain agents: `create_agent(..., middleware=[ContextCompactionMiddleware(compaction)])`."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from reme_compact.contract.exception_places import exception_places
from reme_compact.integrations.context_compaction import Compacted, ContextCompaction
from reme_compact.integrations.extras import needing
from reme_compact.integrations.langchain_recovery import recovery_tool, thread_of_run

with needing("LangChain", "langchain"):
    from langchain.agents.middleware import (
        AgentMiddleware,
        AgentState,
        ExtendedModelResponse,
        ModelRequest,
        ModelResponse,
    )
    from langchain.agents.middleware.types import ContextT, ResponseT
    from langchain_core.messages import AnyMessage, BaseMessage
    from langgraph.types import Command

_log = logging.getLogger(__name__)

# What a model is shown. The rest, such as the artifact of a tool's result, need not be JSON.
_SHOWN: dict[str, Any] = {
    "type": True,
    "id": True,
    "role": True,
    "content": True,
    "tool_calls": True,
    "invalid_tool_calls": True,
    "tool_call_id": True,
    "name": True,
    "status": True,
    "additional_kwargs": {"tool_calls", "function_call"},
}


class ContextCompactionMiddleware(AgentMiddleware[AgentState[ResponseT], ContextT, ResponseT]):
    """Gives an agent's model a history in which old tool results that are no longer needed are previews.

    The agent keeps its history as it is, and each model call gets a compacted one. The tool with which the agent
    reads originals back comes along. A thread's originals are its own: its id names the session in the archive;
    only without one, the session is that of the compaction.

    Args:
        compaction: when, how far and with what to compact; it is borrowed, and may serve several agents.
        apply_to_history: replace the results in the agent's state as well, so that checkpoints hold the previews.
    """

    def __init__(self, compaction: ContextCompaction, *, apply_to_history: bool = False) -> None:
        super().__init__()
        self._compaction = compaction
        self._applies_to_history = apply_to_history
        self.tools = [recovery_tool(compaction)]

    def wrap_model_call(
        self,
        request: ModelRequest[ContextT],
        handler: Callable[[ModelRequest[ContextT]], ModelResponse[ResponseT]],
    ) -> ModelResponse[ResponseT] | ExtendedModelResponse[ResponseT]:
        """Send the model a compacted history."""
        if (before := _plain(request)) is None:
            return handler(request)
        compacted = self._compaction.compact_now(before, format="langchain", session=thread_of_run())
        compacted_request = _with_previews(request, before, compacted)
        return self._response(request, compacted_request, handler(compacted_request))

    async def awrap_model_call(
        self,
        request: ModelRequest[ContextT],
        handler: Callable[[ModelRequest[ContextT]], Awaitable[ModelResponse[ResponseT]]],
    ) -> ModelResponse[ResponseT] | ExtendedModelResponse[ResponseT]:
        """Do the same for an agent that awaits its model."""
        if (before := _plain(request)) is None:
            return await handler(request)
        compacted = await self._compaction.compact(before, format="langchain", session=thread_of_run())
        compacted_request = _with_previews(request, before, compacted)
        return self._response(request, compacted_request, await handler(compacted_request))

    def _response(
        self,
        request: ModelRequest[ContextT],
        compacted: ModelRequest[ContextT],
        response: ModelResponse[ResponseT],
    ) -> ModelResponse[ResponseT] | ExtendedModelResponse[ResponseT]:
        """Add to a response what it changes in the agent's state, where messages replace those with their ids."""
        if not self._applies_to_history or compacted is request:
            return response
        stored = {message.id for message in request.state.get("messages", []) if message.id is not None}
        pairs = zip(compacted.messages, request.messages, strict=True)
        replaced = [now for now, before in pairs if now is not before and now.id in stored]
        if not replaced:
            return response
        return ExtendedModelResponse(response, Command(update={"messages": replaced}))


def _plain(request: ModelRequest[Any]) -> list[dict[str, Any]] | None:
    """Return what a model is to be sent as data, the system's message first; null if that is impossible."""
    if not request.messages:
        return None
    try:
        return [message.model_dump(mode="json", include=_SHOWN) for message in _sent(request)]
    except Exception as error:  # noqa: BLE001 - an agent must not fail because its context could not get smaller
        _log.error("The context could not be compacted and is sent as it is: %s", exception_places(error))
        return None


def _sent(request: ModelRequest[Any]) -> Sequence[BaseMessage]:
    return [*([request.system_message] if request.system_message else []), *request.messages]


def _with_previews(
    request: ModelRequest[ContextT], before: list[dict[str, Any]], compacted: Compacted
) -> ModelRequest[ContextT]:
    """Return a request with copies of the messages that read otherwise now; all others are its own."""
    if not compacted.changed:
        return request
    skipped = len(before) - len(request.messages)
    changes = zip(request.messages, before[skipped:], compacted.messages[skipped:], strict=True)
    messages: list[AnyMessage] = [
        message if now is old else message.model_copy(update={"content": now["content"]})
        for message, old, now in changes
    ]
    return request.override(messages=messages)
