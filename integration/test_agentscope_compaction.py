"""An AgentScope agent of which the model is sent a compacted context, call after call."""

import json
import logging
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agentscope.agent import Agent, ContextConfig, ReActConfig
from agentscope.credential import OpenAICredential
from agentscope.formatter import OpenAIChatFormatter
from agentscope.message import Msg, TextBlock, ToolCallBlock, ToolResultBlock
from agentscope.model import ChatModelBase, ChatResponse
from agentscope.permission import PermissionBehavior, PermissionDecision
from agentscope.tool import FunctionTool, Toolkit
from openai.types.chat import ChatCompletionMessageParam
from pydantic import TypeAdapter
from sdk_validation import accepted

from reme_compact import BinaryAnswer, DecisionResponse
from reme_compact.decision.protocol import Questions, State
from reme_compact.history.formats.registry import FORMATS
from reme_compact.integrations.agentscope_compaction import ContextCompactionMiddleware
from reme_compact.integrations.context_compaction import ContextCompaction

pytestmark = pytest.mark.anyio

PAGES = 30
MARKER = re.compile(r"\[Compacted output\. Recover from: (\S+)\]\Z")
REQUEST: TypeAdapter[Any] = TypeAdapter(list[ChatCompletionMessageParam])

Turn = Callable[[list[Msg]], TextBlock | ToolCallBlock]


def page(number: int) -> str:
    return "\n".join(f"page {number}, line {line}: nothing to see" for line in range(120))


def read_page(number: int) -> str:
    """Return a page of the log."""
    return page(number)


def reads(number: int) -> Turn:
    return lambda _: ToolCallBlock(id=f"call_{number}", name="read_page", input=json.dumps({"number": number}))


def recovers(number: int) -> Turn:
    def turn(messages: list[Msg]) -> ToolCallBlock:
        marker = MARKER.search(texts(messages)[f"call_{number}"])
        assert marker is not None
        given = json.dumps({"ref": marker[1], "max_chars": 16_384})
        return ToolCallBlock(id="call_again", name="recover_tool_result", input=given)

    return turn


def says(text: str) -> Turn:
    return lambda _: TextBlock(text=text)


def results(messages: list[Msg]) -> dict[str, ToolResultBlock]:
    return {b.id: b for message in messages for b in message.content if isinstance(b, ToolResultBlock)}


def texts(messages: list[Msg]) -> dict[str, str]:
    return {
        call_id: result.output if isinstance(result.output, str) else "".join(block.text for block in result.output)
        for call_id, result in results(messages).items()
    }


class ScriptedModel(ChatModelBase):  # type: ignore[misc] # not analysed, so untyped here
    """Does what a script says, checks that each request is one that the provider accepts, and keeps what it got."""

    def __init__(self, script: list[Turn], context_size: int = 1_000_000) -> None:
        super().__init__(OpenAICredential(api_key="unused"), "scripted", self.Parameters(), stream=False, max_retries=0)
        self.context_size = context_size
        self.formatter = OpenAIChatFormatter()
        self.script = script
        self.requests: list[list[Msg]] = []

    async def _call_api(
        self, model_name: str, messages: list[Msg], tools: list[dict[str, Any]] | None = None, **_: Any
    ) -> ChatResponse:
        del model_name, tools
        request = await self.formatter.format(messages)
        assert accepted(REQUEST, request)
        assert list(FORMATS["openai_chat"].violations(request)) == []
        self.requests.append(messages)
        return ChatResponse(content=[self.script.pop(0)(messages)], is_last=True)

    async def generate_structured_output(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("the context was summarized")


async def not_needed(state: State, questions: Questions) -> DecisionResponse:
    del state
    return DecisionResponse(content={name: BinaryAnswer(0.02) for name in questions})


def compaction_in(folder: Path, model: Any = not_needed) -> ContextCompaction:
    return ContextCompaction(
        trigger_tokens=12_000,
        eligible_tool_names=["read_page"],
        archive=str(folder / "archive"),
        session="incident",
        as_decision_model=model,
        preserve_recent_pairs=2,
    )


async def make_agent(
    middleware: ContextCompactionMiddleware, script: list[Turn], context_size: int = 1_000_000
) -> Agent:
    allowed = PermissionDecision(behavior=PermissionBehavior.ALLOW, message="It only reads.")
    tools = [FunctionTool(read_page, is_read_only=True, permission=allowed), *await middleware.list_tools()]
    return Agent(
        name="agent",
        system_prompt="You look after a shop.",
        model=ScriptedModel(script, context_size),
        toolkit=Toolkit(tools),
        middlewares=[middleware],
        react_config=ReActConfig(max_iters=PAGES + 10),
        context_config=ContextConfig(trigger_ratio=0.8, reserve_ratio=0.1),
    )


def whole_script() -> list[Turn]:
    return [*(reads(number) for number in range(PAGES)), recovers(3), says("All is well.")]


async def ask(agent: Agent) -> str:
    reply = await agent.reply(Msg(name="user", role="user", content=[TextBlock(text="Look through the log.")]))
    return str(reply.content[-1].text)


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


async def test_an_agent_runs_thirty_calls_is_compacted_on_the_way_and_reads_one_back(tmp_path: Path) -> None:
    agent = await make_agent(ContextCompactionMiddleware(compaction_in(tmp_path)), whole_script())
    assert await ask(agent) == "All is well."

    requests = agent.model.requests
    assert check_stable([texts(request) for request in requests]) >= 3
    originals = {f"call_{number}": page(number) for number in range(PAGES)}
    assert texts(agent.state.context) == {**originals, "call_again": page(3)}
    sent = texts(requests[-1])
    assert sent["call_again"] == page(3)
    assert sum(map(len, sent.values())) < sum(map(len, originals.values())) / 2


async def test_what_is_not_previewed_is_the_agents_own(tmp_path: Path) -> None:
    agent = await make_agent(ContextCompactionMiddleware(compaction_in(tmp_path)), whole_script())
    await ask(agent)
    _system, user, reply = agent.model.requests[-1]
    stored_user, stored_reply = agent.state.context
    assert user is stored_user
    assert reply.id == stored_reply.id
    for sent, stored in zip(reply.content, stored_reply.content, strict=False):
        if sent is not stored:
            assert MARKER.search(sent.output)
            assert sent.model_copy(update={"output": stored.output}) == stored


async def test_the_history_is_compacted_instead_if_the_host_asks_for_it(tmp_path: Path) -> None:
    # Uncompacted, the context would be too long for this model several times, and the model cannot summarize.
    compaction = compaction_in(tmp_path)
    middleware = ContextCompactionMiddleware(compaction, apply_to_history=True)
    agent = await make_agent(middleware, whole_script(), context_size=20_000)
    assert await ask(agent) == "All is well."

    stored = texts(agent.state.context)
    assert stored["call_again"] == page(3)
    assert check_stable([texts(request) for request in agent.model.requests]) >= 3
    tool = compaction.recovery_tool()
    for number in range(PAGES):
        text = stored[f"call_{number}"]
        assert text == page(number) or tool(ref=text.splitlines()[-1], max_chars=16_384) == page(number)


async def test_what_an_agent_hears_meanwhile_stays_in_its_history(tmp_path: Path) -> None:
    heard = Msg(name="user", role="user", content=[TextBlock(text="Hurry up.")])

    async def tells(state: State, questions: Questions) -> DecisionResponse:
        if heard not in agent.state.context:
            await agent.observe(heard)
        return await not_needed(state, questions)

    middleware = ContextCompactionMiddleware(compaction_in(tmp_path, tells), apply_to_history=True)
    agent = await make_agent(middleware, [*(reads(number) for number in range(PAGES)), says("Done.")])
    assert await ask(agent) == "Done."
    assert [message.get_text_content() for message in agent.state.context if message.role == "user"] == [
        "Look through the log.",
        "Hurry up.",
    ]
    assert any(MARKER.search(text) for text in texts(agent.state.context).values())


@pytest.mark.parametrize("apply_to_history", [False, True])
async def test_an_agent_goes_on_if_compaction_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, apply_to_history: bool
) -> None:
    compaction = compaction_in(tmp_path)

    async def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("secret words of a message")

    monkeypatch.setattr(compaction, "compact", broken)
    middleware = ContextCompactionMiddleware(compaction, apply_to_history=apply_to_history)
    agent = await make_agent(middleware, [reads(0), says("Done.")])
    with caplog.at_level(logging.ERROR):
        assert await ask(agent) == "Done."
    assert texts(agent.model.requests[-1]) == {"call_0": page(0)}
    assert "RuntimeError" in caplog.text
    assert "secret" not in caplog.text


async def test_a_decision_model_that_is_down_keeps_everything(tmp_path: Path) -> None:
    async def down(state: State, questions: Questions) -> DecisionResponse:
        raise ConnectionError

    middleware = ContextCompactionMiddleware(compaction_in(tmp_path, down))
    agent = await make_agent(middleware, [*(reads(number) for number in range(12)), says("Done.")])
    assert await ask(agent) == "Done."
    assert texts(agent.model.requests[-1]) == {f"call_{number}": page(number) for number in range(12)}


async def test_what_a_tool_says_about_its_result_need_not_be_json(tmp_path: Path) -> None:
    agent = await make_agent(ContextCompactionMiddleware(compaction_in(tmp_path)), whole_script())
    agent.state.context.append(
        Msg(name="user", role="user", content=[TextBlock(text="Hello.")], metadata={"seen_by": object()})
    )
    assert await ask(agent) == "All is well."
    assert check_stable([texts(request) for request in agent.model.requests]) >= 3


def test_the_worked_example_runs() -> None:
    example = Path(__file__).parent.parent / "examples" / "agentscope_agent.py"
    run = subprocess.run([sys.executable, str(example)], capture_output=True, text=True, check=False, timeout=100)
    assert run.returncode == 0, run.stderr
    assert "declined by the bank" in run.stdout
