"""The recovery tool for AgentScope agents: `Toolkit(tools=[..., recovery_tool(archive, session)])`."""

from typing import Any

from anyio import to_thread

from reme_compact.archive.archive import Archive
from reme_compact.archive.recovery_tool import RecoveryTool, failure_text
from reme_compact.archive.reference import Session
from reme_compact.contract.errors import ReMeError
from reme_compact.integrations.extras import needing

with needing("AgentScope", "agentscope"):
    from agentscope.message import TextBlock, ToolResultState
    from agentscope.permission import PermissionBehavior, PermissionContext, PermissionDecision
    from agentscope.tool import ToolBase, ToolChunk


def recovery_tool(archive: Archive, session: str | Session) -> ToolBase:
    """Return the tool with which an agent reads back originals of one session.

    It reads in a worker thread, changes nothing, and needs no confirmation by a user; rules of the host's that deny
    it or ask are respected. What fails is a result with the state `error` that tells the model why.

    Args:
        archive: where the originals are.
        session: whose they are; a text is the name of a session that nobody owns.

    Raises:
        InvalidRequestError: the session is blank.

    """
    return agentscope_tool(RecoveryTool(archive, session))


def agentscope_tool(tool: RecoveryTool) -> ToolBase:
    """Return the recovery tool of one session as a tool of AgentScope's; see `recovery_tool`."""
    return _RecoveryTool(tool)


class _RecoveryTool(ToolBase):  # type: ignore[misc] # AgentScope is not analysed, so untyped here
    is_concurrency_safe = True
    is_read_only = True

    def __init__(self, tool: RecoveryTool) -> None:
        super().__init__()
        self.name = tool.name
        self.description = tool.description
        self.input_schema = tool.parameters
        self._tool = tool

    async def check_permissions(self, tool_input: dict[str, Any], context: PermissionContext) -> PermissionDecision:
        del tool_input, context
        return PermissionDecision(
            behavior=PermissionBehavior.ALLOW, message="What was once in an agent's context may be read by it again."
        )

    async def call(self, **arguments: Any) -> ToolChunk:
        try:
            text = await to_thread.run_sync(self._tool.recover, arguments, abandon_on_cancel=True)
        except ReMeError as error:
            return ToolChunk(content=[TextBlock(text=failure_text(error))], state=ToolResultState.ERROR)
        return ToolChunk(content=[TextBlock(text=text)])
