"""Agents of LangChain and of deepagents, of which the model is sent a compacted history, call after call."""

import logging
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter
from sdk_validation import accepted

pytest.importorskip("langchain")
pytest.importorskip("langchain_openai")

from langchain.agents import create_agent
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from openai.types.chat import ChatCompletionMessageParam

from reme_compact import BinaryAnswer, DecisionResponse
from reme_compact.decision.protocol import Questions, State
from reme_compact.history.formats.registry import FORMATS
from reme_compact.integrations.context_compaction import ContextCompaction
from reme_compact.integrations.langchain_compaction import ContextCompactionMiddleware

pytestmark = pytest.mark.anyio

PAGES = 30
MARKER = re.compile(r"\[Compacted output\. Recover from: (\S+)\]\Z")
REQUEST: TypeAdapter[Any] = TypeAdapter(list[ChatCompletionMessageParam])
PROVIDER = ChatOpenAI(model="scripted", api_key="unused", base_url="http://127.0.0.1:9")

Turn = Callable[[Sequence[BaseMessage]], AIMessage]
Run = Callable[..., Any]


def page(number: int) -> str:
    return "\n".join(f"page {number}, line {line}: nothing to see" for line in range(120))


@tool(response_format="content_and_artifact")
def read_page(number: int) -> tuple[str, bytes]:
    """Return a page of the log."""
    return page(number), b"\xff"  # an artifact need not be JSON


def calls(name: str, call_id: str, **arguments: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": call_id}])


def reads(number: int) -> Turn:
    return lambda _: calls("read_page", f"call_{number}", number=number)


def recovers(number: int, call_id: str = "call_again") -> Turn:
    def turn(messages: Sequence[BaseMessage]) -> AIMessage:
        marker = MARKER.search(texts(messages)[f"call_{number}"])
        assert marker is not None
        return calls("recover_tool_result", call_id, ref=marker[1], max_chars=16_384)

    return turn


def says(text: str) -> Turn:
    return lambda _: AIMessage(text)


def texts(messages: Sequence[BaseMessage]) -> dict[str, str]:
    return {message.tool_call_id: message.text for message in messages if isinstance(message, ToolMessage)}


class ScriptedModel(BaseChatModel):
    """Does what a script says, checks that each request is one that a provider accepts, and keeps what it got."""

    script: list[Turn]
    requests: list[list[BaseMessage]] = []  # noqa: RUF012 - pydantic copies it for each model
    tools: list[str] = []  # noqa: RUF012

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> Runnable[Any, AIMessage]:
        request = PROVIDER.bind_tools(tools).kwargs["tools"]  # type: ignore[attr-defined] # a RunnableBinding
        self.tools = [offered["function"]["name"] for offered in request]
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **_: Any,
    ) -> ChatResult:
        del stop, run_manager
        request = PROVIDER._get_request_payload(messages)["messages"]
        assert accepted(REQUEST, request)
        assert list(FORMATS["openai_chat"].violations(request)) == []
        self.requests.append(messages)
        return ChatResult(generations=[ChatGeneration(message=self.script.pop(0)(messages))])


def whole_script() -> list[Turn]:
    return [*(reads(number) for number in range(PAGES)), recovers(3), says("All is well.")]


async def not_needed(state: State, questions: Questions) -> DecisionResponse:
    del state
    return DecisionResponse(content={name: BinaryAnswer(0.02) for name in questions})


def compaction_in(folder: Path, model: Any = not_needed) -> ContextCompaction:
    return ContextCompaction(
        trigger_tokens=20_000,
        eligible_tool_names=["read_page"],
        archive=str(folder / "archive"),
        session="incident",
        as_decision_model=model,
        preserve_recent_pairs=2,
    )


def langchain_agent(model: ScriptedModel, middleware: ContextCompactionMiddleware, **more: Any) -> Any:
    return create_agent(model, tools=[read_page], system_prompt="You run a shop.", middleware=[middleware], **more)


def deep_agent(model: ScriptedModel, middleware: ContextCompactionMiddleware, **more: Any) -> Any:
    deepagents = pytest.importorskip("deepagents")
    return deepagents.create_deep_agent(
        model, tools=[read_page], system_prompt="You run a shop.", middleware=[middleware], **more
    )


def question(thread: str | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
    config: dict[str, Any] = {"recursion_limit": 500}
    if thread is not None:
        config["configurable"] = {"thread_id": thread}
    return {"messages": [HumanMessage("Look through the log.")]}, config


async def in_a_thread(agent: Any, thread: str | None = None) -> list[AnyMessage]:
    """Run an agent that does not await."""
    asked, config = question(thread)
    answer: list[AnyMessage] = agent.invoke(asked, config)["messages"]
    return answer


async def in_the_loop(agent: Any, thread: str | None = None) -> list[AnyMessage]:
    asked, config = question(thread)
    answer: list[AnyMessage] = (await agent.ainvoke(asked, config))["messages"]
    return answer


def check_stable(requests: list[dict[str, str]]) -> int:
    """Assert that no preview ever changes; return in how many requests previews appeared."""
    known: dict[str, str] = {}
    rounds = 0
    for request in requests:
        previews = {call_id: text for call_id, text in request.items() if MARKER.search(text)}
        assert known == {call_id: previews.get(call_id) for call_id in known}
        rounds += len(previews) > len(known)
        known = previews
    return rounds


@pytest.mark.parametrize("run", [in_a_thread, in_the_loop])
@pytest.mark.parametrize("make_agent", [langchain_agent, deep_agent])
async def test_an_agent_runs_thirty_calls_is_compacted_on_the_way_and_reads_one_back(
    tmp_path: Path, make_agent: Run, run: Run
) -> None:
    model = ScriptedModel(script=whole_script())
    history = await run(make_agent(model, ContextCompactionMiddleware(compaction_in(tmp_path))))
    assert history[-1].text == "All is well."
    assert "recover_tool_result" in model.tools

    assert check_stable([texts(request) for request in model.requests]) >= 3
    originals = {f"call_{number}": page(number) for number in range(PAGES)}
    assert texts(history) == {**originals, "call_again": page(3)}
    sent = texts(model.requests[-1])
    assert sent["call_again"] == page(3)
    assert sum(map(len, sent.values())) < sum(map(len, originals.values())) / 2


async def test_what_is_not_previewed_is_the_agents_own(tmp_path: Path) -> None:
    model = ScriptedModel(script=whole_script())
    history = await in_the_loop(langchain_agent(model, ContextCompactionMiddleware(compaction_in(tmp_path))))
    own = {message.id: message for message in history}
    changed = 0
    for sent in model.requests[-1][1:]:
        stored = own[sent.id]
        if sent is not stored:
            changed += 1
            assert MARKER.search(sent.text)
            assert sent.model_copy(update={"content": stored.content}) == stored
            assert isinstance(sent, ToolMessage)
            assert isinstance(stored, ToolMessage)
            assert sent.artifact is stored.artifact
    assert changed > 10


@pytest.mark.parametrize("run", [in_a_thread, in_the_loop])
@pytest.mark.parametrize("make_agent", [langchain_agent, deep_agent])
async def test_the_history_is_compacted_as_well_if_the_host_asks_for_it(
    tmp_path: Path, make_agent: Run, run: Run
) -> None:
    compaction = compaction_in(tmp_path)
    model = ScriptedModel(script=whole_script())
    middleware = ContextCompactionMiddleware(compaction, apply_to_history=True)
    history = await run(make_agent(model, middleware, checkpointer=InMemorySaver()), "thread 1")

    stored = texts(history)
    assert list(stored) == [*(f"call_{number}" for number in range(PAGES)), "call_again"]
    assert history[-1].text == "All is well."
    sent = texts(model.requests[-1])
    assert stored == sent
    assert check_stable([texts(request) for request in model.requests]) >= 3
    tool = compaction.recovery_tool("thread 1")
    for number in range(PAGES):
        text = stored[f"call_{number}"]
        assert text == page(number) or tool(ref=text.splitlines()[-1], max_chars=16_384) == page(number)


async def test_a_thread_cannot_read_what_another_has_seen(tmp_path: Path) -> None:
    model = ScriptedModel(script=[*(reads(number) for number in range(PAGES)), says("Done.")])
    agent = langchain_agent(model, ContextCompactionMiddleware(compaction_in(tmp_path)), checkpointer=InMemorySaver())
    await in_the_loop(agent, "one")
    marker = MARKER.search(texts(model.requests[-1])["call_3"])
    assert marker is not None
    reference = marker[1]

    def recovers_of_another(_: Sequence[BaseMessage]) -> AIMessage:
        return calls("recover_tool_result", "call_again", ref=reference, max_chars=16_384)

    model.script = [recovers_of_another, says("I cannot read it.")]
    (result,) = [message for message in await in_the_loop(agent, "two") if isinstance(message, ToolMessage)]
    assert result.status == "error"
    assert '"code":"reference_not_found"' in result.text
    model.script = [recovers_of_another, says("Now I can.")]
    again = (await in_the_loop(agent, "one"))[-2]
    assert isinstance(again, ToolMessage)
    assert (again.status, again.text) == ("success", page(3))


@pytest.mark.parametrize("run", [in_a_thread, in_the_loop])
async def test_an_agent_goes_on_if_compaction_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, run: Run
) -> None:
    compaction = compaction_in(tmp_path)

    async def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("secret words of a message")

    monkeypatch.setattr(compaction._step, "run", broken)
    model = ScriptedModel(script=[*(reads(number) for number in range(20)), says("Done.")])
    with caplog.at_level(logging.ERROR, "reme_compact"):
        history = await run(langchain_agent(model, ContextCompactionMiddleware(compaction)))
    assert history[-1].text == "Done."
    assert texts(model.requests[-1]) == {f"call_{number}": page(number) for number in range(20)}
    assert "RuntimeError" in caplog.text
    assert "secret" not in caplog.text


async def test_a_decision_model_that_is_down_keeps_everything(tmp_path: Path) -> None:
    async def down(state: State, questions: Questions) -> DecisionResponse:
        raise ConnectionError

    model = ScriptedModel(script=[*(reads(number) for number in range(20)), says("Done.")])
    await in_the_loop(langchain_agent(model, ContextCompactionMiddleware(compaction_in(tmp_path, down))))
    assert texts(model.requests[-1]) == {f"call_{number}": page(number) for number in range(20)}


async def test_wrong_arguments_are_an_error_that_the_model_can_read(tmp_path: Path) -> None:
    def asks_wrongly(_: Sequence[BaseMessage]) -> AIMessage:
        return calls("recover_tool_result", "call_1", reference="archive/1")

    model = ScriptedModel(script=[asks_wrongly, says("Done.")])
    history = await in_the_loop(langchain_agent(model, ContextCompactionMiddleware(compaction_in(tmp_path))))
    result = history[-2]
    assert isinstance(result, ToolMessage)
    assert result.status == "error"
    assert '"code":"invalid_request"' in result.text


def test_the_worked_example_runs() -> None:
    example = Path(__file__).parent.parent / "examples" / "langchain_agent.py"
    run = subprocess.run([sys.executable, str(example)], capture_output=True, text=True, check=False, timeout=100)
    assert run.returncode == 0, run.stderr
    assert "declined by the bank" in run.stdout
