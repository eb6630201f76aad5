"""Compaction for AgentScope agents: `Agent(..., middlewares=[ContextCompactionMiddleware(compaction)])`."""

import logging
from collections.abc import Awaitable, Callable
from typing import Any

from reme_compact.contract.exception_places import exception_places
from reme_compact.integrations.agentscope_recovery import agentscope_tool
from reme_compact.integrations.context_compaction import ContextCompaction
from reme_compact.integrations.extras import needing

with needing("AgentScope", "agentscope"):
    from agentscope.agent import Agent
    from agentscope.message import Msg
    from agentscope.middleware import MiddlewareBase
    from agentscope.tool import ToolBase

_log = logging.getLogger(__name__)

# What no model is shown, and what need not be JSON, since tools and hosts put there what they like.
_NOT_SHOWN: dict[str, Any] = {
    "metadata": True,
    "usage": True,
    "structured_output": True,
    "error": True,
    "content": {"__all__": {"metadata"}},
}


class ContextCompactionMiddleware(MiddlewareBase):  # type: ignore[misc] # AgentScope is not analysed, so untyped here
    """Gives an agent's model a context in which old tool results that are no longer needed are previews.

    The agent keeps its context as it is, and each model call gets a compacted one. AgentScope summarizes an agent's
    context when it is long, as the agent keeps it: where compaction should put that off, apply it to the history.

    The tool with which the agent reads originals back is one of `list_tools()`: give it to the agent's toolkit.

    Args:
        compaction: when, how far and with what to compact; it is borrowed, and may serve several agents.
        apply_to_history: compact what the agent keeps instead, before its context is measured and sent.
    """

    def __init__(self, compaction: ContextCompaction, *, apply_to_history: bool = False) -> None:
        self._compaction = compaction
        self._applies_to_history = apply_to_history

    async def on_model_call(
        self, agent: Agent, input_kwargs: dict[str, Any], next_handler: Callable[..., Awaitable[Any]]
    ) -> Any:
        """Send the model a compacted context."""
        del agent
        if self._applies_to_history:
            return await next_handler(**input_kwargs)
        messages = list(input_kwargs["messages"])
        await self._compact(messages)
        return await next_handler(**{**input_kwargs, "messages": messages})

    async def on_compress_context(
        self, agent: Agent, input_kwargs: dict[str, Any], next_handler: Callable[..., Awaitable[None]]
    ) -> None:
        """Compact what the agent keeps, if that is wanted; only what is still too long then is summarized."""
        if self._applies_to_history and agent.state.context:
            await self._compact(agent.state.context)
        await next_handler(**input_kwargs)

    async def list_tools(self) -> list[ToolBase]:
        """Return the tool that reads originals back."""
        return [agentscope_tool(self._compaction.recovery_tool())]

    async def _compact(self, messages: list[Msg]) -> None:
        """Put copies with previews into a list of messages; it stays as it is if anything goes wrong."""
        try:
            before = [message.model_dump(mode="json", exclude=_NOT_SHOWN) for message in messages]
            compacted = await self._compaction.compact(before, format="agentscope")
            if compacted.changed:
                _replace_changed(messages, before, compacted.messages)
        except Exception as error:  # noqa: BLE001 - an agent must not fail because its context could not get smaller
            _log.error("The context could not be compacted and is sent as it is: %s", exception_places(error))


def _replace_changed(messages: list[Msg], before: list[dict[str, Any]], now: list[dict[str, Any]]) -> None:
    """Replace the messages of which a result reads otherwise now.

    An agent may be told something while its history is being compacted: what came to the end of it stays there.
    """
    if [message.id for message in messages[: len(before)]] != [message["id"] for message in before]:
        return
    for index, (old, new) in enumerate(zip(before, now, strict=True)):
        if new is not old:
            content = list(messages[index].content)
            for position, (block, changed) in enumerate(zip(old["content"], new["content"], strict=True)):
                if changed is not block:
                    content[position] = content[position].model_copy(update={"output": changed["output"]})
            messages[index] = messages[index].model_copy(update={"content": content})
