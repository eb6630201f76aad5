"""A LangChain agent whose model is sent a compacted history. Run it with: python examples/langchain_agent.py

No network is needed: the model and the decision model are scripted. Put your own in their places. In deepagents,
`create_deep_agent` takes the same middleware.
"""

import tempfile
from collections.abc import Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable

from reme_compact import BinaryAnswer, DecisionResponse
from reme_compact.decision.protocol import Questions, State
from reme_compact.integrations.context_compaction import ContextCompaction
from reme_compact.integrations.langchain_compaction import ContextCompactionMiddleware

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


class ScriptedModel(BaseChatModel):
    """Stand in for a chat model: it reads hour by hour, then looks again at what 7 o'clock had said."""

    sent: dict[str, str] = {}  # noqa: RUF012 - pydantic copies it for each model

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> Runnable[Any, AIMessage]:
        del tools
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **_: Any,
    ) -> ChatResult:
        del stop, run_manager
        self.sent = results(messages)
        return ChatResult(generations=[ChatGeneration(message=self._next())])

    def _next(self) -> AIMessage:
        if (hour := len(self.sent)) < HOURS:
            return calls("read_log", f"hour_{hour}", hour=hour)
        if "again" not in self.sent:
            preview = self.sent["hour_7"]
            print(f"of the log of 7 o'clock, the model is sent:\n\n{preview}\n")
            return calls("recover_tool_result", "again", ref=preview.splitlines()[-1], grep="FAILED")
        return AIMessage(f"I found it: {self.sent['again'].splitlines()[0]}")


def calls(name: str, call_id: str, **arguments: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": call_id}])


def results(messages: Sequence[BaseMessage]) -> dict[str, str]:
    return {message.tool_call_id: message.text for message in messages if isinstance(message, ToolMessage)}


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        compaction = ContextCompaction(
            trigger_tokens=12_000,  # a real model's limit, less what its answer needs
            eligible_tool_names=["read_log"],
            archive=directory,
            as_decision_model=not_needed,
        )
        model = ScriptedModel()
        # The middleware brings the tool along that reads originals back.
        agent: Any = create_agent(model, tools=[read_log], middleware=[ContextCompactionMiddleware(compaction)])
        answer = agent.invoke({"messages": [HumanMessage("Which card was declined?")]}, {"recursion_limit": 200})
        print(f"the agent says: {answer['messages'][-1].text}\n")

        kept = sum(map(len, results(answer["messages"]).values()))
        print(f"characters of results: {sum(map(len, model.sent.values())):,} sent last, {kept:,} kept by the agent")


if __name__ == "__main__":
    main()
