"""An AgentScope agent reads back, with its own tool loop, what compaction has cut out of its context."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agentscope.agent import Agent
from agentscope.credential import OpenAICredential
from agentscope.formatter import OpenAIChatFormatter
from agentscope.message import Msg, TextBlock, ToolCallBlock, ToolResultBlock
from agentscope.model import ChatModelBase, ChatResponse
from agentscope.permission import PermissionBehavior, PermissionContext, PermissionDecision, PermissionMode
from agentscope.state import AgentState
from agentscope.tool import FunctionTool, Toolkit

from reme_compact import BinaryAnswer, CompactContextStep, DecisionResponse
from reme_compact.archive.archive import Archive
from reme_compact.decision.protocol import Questions, State
from reme_compact.integrations.agentscope_recovery import recovery_tool

pytestmark = pytest.mark.anyio

SESSION = "checkout incident"
SPECIAL = "12:10:00 request 600 FAILED: card 4417 was declined by the bank, order 88-1207"
LINES = [f"12:{number // 60:02}:{number % 60:02} request {number} ok" for number in range(1_200)]
LINES[600] = SPECIAL
LOG = "\n".join(LINES)
MARKER = re.compile(r"\[Compacted output\. Recover from: (\S+)\]\Z")

Turn = Callable[[list[Msg]], TextBlock | ToolCallBlock]


class ScriptedModel(ChatModelBase):  # type: ignore[misc] # not analysed, so untyped here
    """A chat model that does what a script says, one turn after the other, and keeps what it was shown."""

    def __init__(self, *script: Turn) -> None:
        super().__init__(OpenAICredential(api_key="unused"), "scripted", self.Parameters(), stream=False, max_retries=0)
        self.context_size = 1_000_000
        self.formatter = OpenAIChatFormatter()
        self.script = list(script)
        self.tools: list[dict[str, Any]] = []

    async def _call_api(
        self, model_name: str, messages: list[Msg], tools: list[dict[str, Any]] | None = None, **_: Any
    ) -> ChatResponse:
        del model_name
        assert await self.formatter.format(messages)
        self.tools = tools or []
        return ChatResponse(content=[self.script.pop(0)(messages)], is_last=True)


def says(text: str) -> Turn:
    return lambda _: TextBlock(text=text)


def calls(name: str, call_id: str = "call_1", **arguments: Any) -> Turn:
    return lambda _: ToolCallBlock(id=call_id, name=name, input=json.dumps(arguments))


def recovers(call_id: str, **arguments: Any) -> Turn:
    """Read back what the last preview in the context stands for, with the reference that stands in it."""

    def turn(messages: list[Msg]) -> ToolCallBlock:
        marker = next(match for text in reversed(result_texts(messages)) if (match := MARKER.search(text)))
        given = json.dumps({"ref": marker[1], **arguments})
        return ToolCallBlock(id=call_id, name="recover_tool_result", input=given)

    return turn


def repeats_what_it_read(messages: list[Msg]) -> TextBlock:
    return TextBlock(text=result_texts(messages)[-1])


def results(messages: list[Msg]) -> list[ToolResultBlock]:
    return [block for message in messages for block in message.content if isinstance(block, ToolResultBlock)]


def result_texts(messages: list[Msg]) -> list[str]:
    return [
        result.output if isinstance(result.output, str) else "".join(block.text for block in result.output)
        for result in results(messages)
    ]


async def not_needed(state: State, questions: Questions) -> DecisionResponse:
    del state
    return DecisionResponse(content={name: BinaryAnswer(0.02) for name in questions})


def read_log() -> str:
    """Return the log."""
    return LOG


def make_agent(model: ScriptedModel, archive: Archive, mode: PermissionMode = PermissionMode.DEFAULT) -> Agent:
    allowed = PermissionDecision(behavior=PermissionBehavior.ALLOW, message="It only reads.")
    tools = [FunctionTool(read_log, is_read_only=True, permission=allowed), recovery_tool(archive, SESSION)]
    state = AgentState(permission_context=PermissionContext(mode=mode))
    return Agent(name="agent", system_prompt="You look after a shop.", model=model, toolkit=Toolkit(tools), state=state)


async def compact(agent: Agent, step: CompactContextStep) -> dict[str, Any]:
    """Do between two turns what a host does: put the proposal in the place of the agent's context."""
    response = await step(
        messages=[message.model_dump(mode="json") for message in agent.state.context],
        eligible_tool_names=["read_log"],
        archive={"session": SESSION},
        options={"preserve_recent_pairs": 0},
    )
    agent.state.context = [Msg.model_validate(message) for message in response.answer["messages"]]
    answer: dict[str, Any] = response.answer
    return answer


def user(text: str) -> Msg:
    return Msg(name="user", role="user", content=[TextBlock(text=text)])


@pytest.fixture
def step(tmp_path: Path) -> CompactContextStep:
    return CompactContextStep(as_decision_model=not_needed, archive=str(tmp_path / "archive"))


def archive_of(step: CompactContextStep) -> Archive:
    assert step.archive is not None
    return step.archive


async def compacted_agent(
    step: CompactContextStep, *script: Turn, mode: PermissionMode = PermissionMode.DEFAULT
) -> Agent:
    """Return an agent that has read a log, of which only a preview is left in its context."""
    model = ScriptedModel(calls("read_log"), says("Most requests were fine."), *script)
    agent = make_agent(model, archive_of(step), mode)
    await agent.reply(user("Have a look at the log."))
    assert result_texts(agent.state.context) == [LOG]
    proposal = await compact(agent, step)
    assert proposal["reason"] == "compacted"
    (preview,) = result_texts(agent.state.context)
    assert MARKER.search(preview)
    assert SPECIAL not in preview
    return agent


@pytest.mark.parametrize("mode", list(PermissionMode))
async def test_an_agent_gets_the_exact_line_that_a_preview_had_cut(
    step: CompactContextStep, mode: PermissionMode
) -> None:
    script = (recovers("call_again", grep="FAILED.*declined"), repeats_what_it_read)
    agent = await compacted_agent(step, *script, mode=mode)
    reply = await agent.reply(user("Which card was declined?"))

    line = reply.content[-1].text.splitlines()[0]
    offset, _, text = line.partition(": ")
    assert text == SPECIAL
    assert LOG[int(offset) :].startswith(SPECIAL)
    assert [result.state for result in results(agent.state.context)] == ["success", "success"]
    (schema,) = [tool["function"] for tool in agent.model.tools if tool["function"]["name"] == "recover_tool_result"]
    assert schema["parameters"]["required"] == ["ref"]


async def test_an_agent_that_reads_on_gets_every_line(step: CompactContextStep) -> None:
    reads = [recovers(f"call_{offset}", offset=offset, max_chars=16_384) for offset in range(0, len(LOG), 16_384)]
    agent = await compacted_agent(step, *reads, says("I have read it all."))
    await agent.reply(user("Read it again."))
    pieces = result_texts(agent.state.context)[1:]
    bodies = [re.sub(r"\n\[Characters \d+ to \d+ of \d+\. .*\]\Z", "", piece) for piece in pieces]
    assert "".join(bodies) == LOG


async def test_what_goes_wrong_is_an_error_that_the_model_can_read(step: CompactContextStep) -> None:
    foreign = f"archive/{'0' * 32}/{'0' * 64}"
    script = (calls("recover_tool_result", "call_again", ref=foreign), says("I cannot find it."))
    agent = await compacted_agent(step, *script)
    await agent.reply(user("Which card was declined?"))
    result = results(agent.state.context)[-1]
    assert result.state == "error"
    assert json.loads(result_texts(agent.state.context)[-1])["code"] == "reference_not_found"


async def test_what_was_read_back_is_left_alone_and_later_stands_under_its_first_reference(
    step: CompactContextStep,
) -> None:
    agent = await compacted_agent(step, recovers("call_again"), says("Now I see."))
    await agent.reply(user("Read it again."))
    before = result_texts(agent.state.context)
    proposal = await compact(agent, step)
    assert result_texts(agent.state.context) == before
    assert proposal["stats"]["details"]["t2"] == "recently_recovered"

    for number in range(5):
        agent.model.script += [calls("read_log", f"call_of_{number}"), says("And again.")]
        await agent.reply(user("Look again."))
    await compact(agent, step)
    previews = result_texts(agent.state.context)
    references = {match[1] for text in previews if (match := MARKER.search(text))}
    assert len(references) == 1
    assert not any(SPECIAL in text for text in previews)


def test_the_worked_example_runs() -> None:
    example = Path(__file__).parent.parent / "examples" / "recover.py"
    run = subprocess.run([sys.executable, str(example)], capture_output=True, text=True, check=False, timeout=100)
    assert run.returncode == 0, run.stderr
    assert "declined by the bank" in run.stdout


def test_what_the_page_shows_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (Path(__file__).parent.parent / "docs" / "archive.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "page"}
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(compile(block, "archive.md", "exec"), names)  # noqa: S102 - our own text
    archived, marker, line, last, reference = capsys.readouterr().out.splitlines()
    assert archived in page
    assert marker.partition("archive/")[0] in page
    assert f"{line}\n{last}\n" in page
    assert reference == "s3/run-7/c1"
