"""An AgentScope agent whose model is sent a compacted context. Run it with: python examples/agentscope_agent.py

No network is needed: the model and the decision model are scripted. Put your own in their places.
"""

import asyncio
import json
import tempfile
from collections.abc import Iterator
from typing import Any

from agentscope.agent import Agent, ReActConfig
from agentscope.credential import OpenAICredential
from agentscope.formatter import OpenAIChatFormatter
from agentscope.message import Msg, TextBlock, ToolCallBlock, ToolResultBlock
from agentscope.model import ChatModelBase, ChatResponse
from agentscope.permission import PermissionBehavior, PermissionDecision
from agentscope.tool import FunctionTool, Toolkit

from reme_compact import BinaryAnswer, DecisionResponse
from reme_compact.decision.protocol import Questions, State
from reme_compact.integrations.agentscope_compaction import ContextCompactionMiddleware
from reme_compact.integrations.context_compaction import ContextCompaction

HOURS = 24


def read_log(hour: int) -> str:
    """Return the log of one hour of the day."""
    lines = [f"{hour:02}:{number // 2:02}:{number % 2 * 30:02} request {number} ok" for number in range(120)]
    if hour == 7:
        lines[61] = "07:30:30 request 61 FAILED: card 4417 was declined by the bank"
    return "\n".join(lines)


async def not_needed(state: State, questions: Questions) -> DecisionResponse:
    """Stand in for a decision model: to this one, nothing is needed any more."""
    del state
    return DecisionResponse(content={name: BinaryAnswer(0.02) for name in questions})


class ScriptedModel(ChatModelBase):  # type: ignore[misc] # AgentScope is not analysed, so untyped here
    """Stand in for a chat model: it reads hour by hour, then looks again at what 7 o'clock had said."""

    def __init__(self) -> None:
        super().__init__(OpenAICredential(api_key="unused"), "scripted", self.Parameters(), stream=False, max_retries=0)
        self.context_size = 1_000_000
        self.formatter = OpenAIChatFormatter()
        self.results: dict[str, str] = {}
        self.script = self._turns()

    async def _call_api(self, model_name: str, messages: list[Msg], **_: Any) -> ChatResponse:
        del model_name
        self.results = results(messages)
        return ChatResponse(content=[next(self.script)], is_last=True)

    def _turns(self) -> Iterator[TextBlock | ToolCallBlock]:
        for hour in range(HOURS):
            yield calls("read_log", f"hour_{hour}", hour=hour)
        preview = self.results["hour_7"]
        print(f"of the log of 7 o'clock, the model is sent:\n\n{preview}\n")
        yield calls("recover_tool_result", "again", ref=preview.splitlines()[-1], grep="FAILED")
        yield TextBlock(text=f"I found it: {self.results['again'].splitlines()[0]}")


def calls(name: str, call_id: str, **arguments: Any) -> ToolCallBlock:
    return ToolCallBlock(id=call_id, name=name, input=json.dumps(arguments))


def results(messages: list[Msg]) -> dict[str, str]:
    blocks = [block for message in messages for block in message.content if isinstance(block, ToolResultBlock)]
    return {
        block.id: block.output if isinstance(block.output, str) else "".join(part.text for part in block.output)
        for block in blocks
    }


async def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        compaction = ContextCompaction(
            trigger_tokens=12_000,  # a real model's limit, less what its answer needs
            eligible_tool_names=["read_log"],
            archive=directory,
            as_decision_model=not_needed,
        )
        middleware = ContextCompactionMiddleware(compaction)

        model = ScriptedModel()
        allowed = PermissionDecision(behavior=PermissionBehavior.ALLOW, message="It only reads.")
        log = FunctionTool(read_log, is_read_only=True, permission=allowed)
        agent = Agent(
            name="agent",
            system_prompt="You look after a shop.",
            model=model,
            toolkit=Toolkit([log, *await middleware.list_tools()]),  # the tool that reads originals back
            middlewares=[middleware],
            react_config=ReActConfig(max_iters=HOURS + 10),
        )
        reply = await agent.reply(Msg(name="user", role="user", content=[TextBlock(text="Which card was declined?")]))
        print(f"the agent says: {reply.content[-1].text}\n")

        kept = sum(map(len, results(agent.state.context).values()))
        print(f"characters of results: {sum(map(len, model.results.values())):,} sent last, {kept:,} kept by the agent")
        await compaction.aclose()


if __name__ == "__main__":
    asyncio.run(main())
