"""The recovery tool for LangChain agents: `create_agent(..., tools=[..., recovery_tool(compaction)])`."""

from typing import Any

from reme_compact.archive.recovery_tool import failure_text
from reme_compact.contract.errors import ReMeError
from reme_compact.integrations.context_compaction import ContextCompaction
from reme_compact.integrations.extras import needing

with needing("LangChain", "langchain"):
    from langchain_core.runnables import ensure_config
    from langchain_core.tools import BaseTool, StructuredTool, ToolException


def recovery_tool(compaction: ContextCompaction) -> BaseTool:
    """Return the tool with which an agent reads originals back; `ContextCompactionMiddleware` brings it along.

    It opens the originals of the thread in which it is called. An agent that awaits its tools gets it in a worker
    thread. What fails is a result with the status `error` that tells the model why.
    """

    def recover(**arguments: Any) -> str:
        try:
            return compaction.recovery_tool(thread_of_run()).recover(arguments)
        except ReMeError as error:
            raise ToolException(failure_text(error)) from None

    known = compaction.recovery_tool()
    return StructuredTool.from_function(
        recover,
        name=known.name,
        description=known.description,
        args_schema=known.parameters,
        handle_tool_error=True,
    )


def thread_of_run() -> str | None:
    """Return the id of the thread that the current run belongs to; null if it has none."""
    thread = ensure_config().get("configurable", {}).get("thread_id")
    return str(thread) if thread is not None and str(thread).strip() else None
