"""Originals in the built-in archive, and an agent that reads one back. Run it with: python examples/recover.py"""

import asyncio
import json
import re
import tempfile
from typing import Any

from reme_compact import BinaryAnswer, CompactContextStep, DecisionResponse
from reme_compact.archive.archive import Archive
from reme_compact.archive.opening import storage_at
from reme_compact.archive.recovery_tool import RecoveryTool
from reme_compact.decision.protocol import Questions, State

SESSION = "checkout incident"
LINES = [f"12:{number // 60:02}:{number % 60:02} request {number} ok" for number in range(1_200)]
LINES[600] = "12:10:00 request 600 FAILED: card 4417 was declined by the bank, order 88-1207"
LOG = "\n".join(LINES)


def history() -> list[dict[str, Any]]:
    call = {"type": "tool_call", "id": "c1", "name": "read_log", "input": '{"of":"shop"}', "state": "finished"}
    result = {"type": "tool_result", "id": "c1", "name": "read_log", "output": LOG, "state": "success"}
    return [
        {"role": "user", "content": [{"type": "text", "text": "Why do customers complain?"}]},
        {"role": "assistant", "content": [call, result, {"type": "text", "text": "Most requests were fine."}]},
        {"role": "user", "content": [{"type": "text", "text": "Which card was declined?"}]},
    ]


async def not_needed(state: State, questions: Questions) -> DecisionResponse:
    """Stand in for a decision model: to this one, nothing is needed any more."""
    del state
    return DecisionResponse(content={name: BinaryAnswer(0.02) for name in questions})


async def compact(step: CompactContextStep) -> str:
    """Compact the history, and return what now stands in the place of the log."""
    proposal = (
        await step(
            messages=history(),
            eligible_tool_names=["read_log"],
            archive={"session": SESSION},  # instead of source_refs: originals are stored before they are cut
            options={"preserve_recent_messages": 1},
        )
    ).answer
    archived = proposal["stats"]["archived"]
    print(f"archived: {archived['results']} result of {archived['chars']:,} characters; it now reads:\n")
    preview: str = proposal["messages"][1]["content"][1]["output"]
    print(f"{preview}\n")
    return preview


def agent_looks_for(tool: RecoveryTool, marker: str) -> None:
    """Do what an agent does that misses something: call the tool with the marker line of the preview."""
    arguments = {"ref": marker, "grep": "declined"}
    print(f"the agent calls {tool.name} with {json.dumps(arguments)} and gets:\n")
    print(f"{tool.answer(arguments)}\n")


def agent_reads_on(tool: RecoveryTool, marker: str) -> None:
    """Read the whole original, piece by piece, with the offset that each answer ends with."""
    offset, pieces = 0, []
    while True:
        answer = tool.answer({"ref": marker, "offset": offset})
        more = re.search(r"\n\[Characters .* offset=(\d+)\.\]\Z", answer)
        pieces.append(answer[: more.start()] if more else answer)
        if more is None:
            break
        offset = int(more[1])
    print(f"it reads the original in {len(pieces)} pieces, exactly as it was: {''.join(pieces) == LOG}")


async def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        archive = Archive(storage_at(directory))
        preview = await compact(CompactContextStep(as_decision_model=not_needed, archive=archive))
        marker = preview.splitlines()[-1]

        tool = RecoveryTool(archive, SESSION)  # give an agent tool.name, tool.description, tool.parameters
        agent_looks_for(tool, marker)
        agent_reads_on(tool, marker)

        elsewhere = RecoveryTool(archive, "another session")
        print(f"another session's agent gets: {elsewhere.answer({'ref': marker})}")


if __name__ == "__main__":
    asyncio.run(main())
