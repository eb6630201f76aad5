"""A distributed deployment for tests: a real server, real worker processes, and a decision model that counts.

Run as a program, this file is a worker process whose decision model asks the test's own counting server.
"""

import asyncio
import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson
from reme_workers.deployment import DistributedDeployment
from reme_workers.parent_death import names_parent
from reme_workers.redis_server import RedisServer
from reme_workers.worker_arguments import Pool, PresetArguments, Role, WorkerArguments

from reme_compact.compaction.step import CompactContextStep
from reme_compact.contract.job import JobDocument
from reme_compact.contract.request import CompactionRequest
from reme_compact.decision import backends
from reme_compact.decision.protocol import BinaryAnswer, DecisionResponse
from reme_compact.decision.settings import DecisionModelSettings
from reme_compact.jobs.deployment import build_deployment
from reme_compact.jobs.intake import accept
from reme_compact.jobs.record import ANONYMOUS
from reme_compact.jobs.waiting import wait_until_final
from reme_compact.presets.schema import Preset

_MODEL_SOCKET = "REME_TEST_MODEL_SOCKET"
_THIS_FILE = str(Path(__file__))
LONGEST_WAIT = 30.0


# The decision model


async def judge(state: Any, questions: Any) -> DecisionResponse:
    """Answer by a hash of the evidence, so that every run of the same history gives the same proposal."""
    units = {unit["id"]: unit["result"] for unit in state["evidence_units"]}
    answers = {name: BinaryAnswer(hashlib.sha256(units[name].encode()).digest()[0] / 255) for name in questions}
    return DecisionResponse(answers, usage={"input_tokens": 1})


class CountedModel:
    """Asks the counting server whether it may answer, and when."""

    backend = "counted"
    model_name: str | None = None

    def __init__(self, socket_path: str) -> None:
        self._socket_path = socket_path

    async def __call__(self, state: Any, questions: Any) -> DecisionResponse:
        reader, writer = await asyncio.open_unix_connection(self._socket_path)
        try:
            question = {"units": list(questions), "goal": state.get("goal"), "process": os.getpid()}
            writer.write(json.dumps(question).encode() + b"\n")
            if not await reader.readline():
                raise ConnectionError
        finally:
            writer.close()
        return await judge(state, questions)

    async def aclose(self) -> None:
        """Do nothing."""


@dataclass
class Call:
    """One decision request as the server saw it."""

    goal: str
    units: tuple[str, ...]
    process: int
    began: float
    ended: float | None = None
    answered: bool = False


@dataclass
class CountingServer:
    """Records every decision request; answers after `seconds`, and only while `gate` is open."""

    seconds: float = 0.0
    calls: list[Call] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = await reader.readline()
        if not line:
            writer.close()
            return
        asked = json.loads(line)
        call = Call(asked["goal"], tuple(asked["units"]), asked["process"], time.time())
        await self._note(self.calls.append, call)
        gone = asyncio.ensure_future(reader.read())
        pause = asyncio.ensure_future(self._pause())
        await asyncio.wait({gone, pause}, return_when=asyncio.FIRST_COMPLETED)
        call.answered = not gone.done()
        for task in (gone, pause):
            task.cancel()
        if call.answered:
            with contextlib.suppress(ConnectionError):
                writer.write(b"go on\n")
                await writer.drain()
        call.ended = time.time()
        writer.close()
        await self._note(lambda _: None, call)

    async def until(self, is_so: Callable[["CountingServer"], bool]) -> None:
        """Wait until something is true of the calls."""
        async with asyncio.timeout(LONGEST_WAIT), self._changed:
            await self._changed.wait_for(lambda: is_so(self))

    async def until_begun(self, number: int) -> None:
        """Wait until so many calls began."""
        await self.until(lambda server: len(server.calls) >= number)

    def times_asked(self) -> dict[tuple[str, tuple[str, ...]], int]:
        """Return how often each request was made."""
        counted: dict[tuple[str, tuple[str, ...]], int] = {}
        for call in self.calls:
            counted[call.goal, call.units] = counted.get((call.goal, call.units), 0) + 1
        return counted

    def most_at_once(self, goal: str | None = None) -> int:
        """Return the most calls that were under way at the same time, of one job or of all."""
        moments = []
        for call in self.calls:
            if goal is None or call.goal == goal:
                moments += [(call.began, 1), (call.ended or float("inf"), -1)]
        most = now = 0
        for _, change in sorted(moments):
            now += change
            most = max(most, now)
        return most

    async def _note(self, change: Callable[[Call], object], call: Call) -> None:
        async with self._changed:
            change(call)
            self._changed.notify_all()

    async def _pause(self) -> None:
        await asyncio.sleep(self.seconds)
        await self.gate.wait()


# The deployment


@dataclass
class Worker:
    """A worker process of the test."""

    process: subprocess.Popen[bytes]

    def kill(self) -> None:
        """End it as a crash does, with every process that it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def ask_to_end(self) -> None:
        """Send SIGTERM."""
        self.process.send_signal(signal.SIGTERM)


@dataclass
class Cluster:
    """One deployment: server, workers, and this process in the place of the API."""

    folder: Path
    server: RedisServer
    model: CountingServer
    arguments: PresetArguments
    deployment: DistributedDeployment
    workers: list[Worker] = field(default_factory=list)

    @cached_property
    def preset(self) -> Preset:
        return self.arguments.load()

    def start_worker(
        self, role: Role, concurrency: int = 8, pool: Pool = "threads", *, supervised: bool = False
    ) -> Worker:
        """Start a worker; without a supervisor it is not started again when it ends."""
        told = WorkerArguments(self.arguments, role, concurrency, pool)
        log = (self.folder / "workers.log").open("ab")
        with log:
            process = subprocess.Popen(
                [sys.executable, _THIS_FILE, "supervisor" if supervised else "worker"],
                env={
                    **os.environ,
                    **names_parent(),
                    **told.environment(),
                    _MODEL_SOCKET: str(self.folder / "model.sock"),
                },
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        worker = Worker(process)
        self.workers.append(worker)
        return worker

    async def until_ready(self, jobs: int = 1, scores: int = 1) -> None:
        """Wait until so many workers of each role live."""
        runner = self.deployment.runner
        async with asyncio.timeout(LONGEST_WAIT):
            # There is no event to wait for: a worker's heart beats on its own.
            while await runner.live("jobs") < jobs or await runner.live("scores") < scores:  # noqa: ASYNC110
                await asyncio.sleep(0.02)

    async def submit(self, request: dict[str, Any], **accepting: Any) -> str:
        """Have a job accepted and return its id."""
        body = orjson.dumps(request)
        accepted = await accept(
            self.deployment,
            self.preset.execution,
            job="compact_context",
            owner=ANONYMOUS,
            request=CompactionRequest.parse(orjson.loads(body)),
            body=body,
            **accepting,
        )
        return accepted.document.id

    async def finished(self, job_id: str) -> JobDocument:
        """Wait for the end of a job."""
        document = await wait_until_final(self.deployment.store, job_id, None, LONGEST_WAIT)
        assert document.is_final, document
        return document

    async def answer(self, job_id: str) -> dict[str, Any]:
        """Wait for the end of a job that succeeds and return its answer."""
        document = await self.finished(job_id)
        assert document.status == "succeeded", document
        pieces = await self.deployment.store.result(job_id, None)
        answer: dict[str, Any] = orjson.loads(b"".join(pieces))["answer"]
        return answer


@contextlib.asynccontextmanager
async def cluster(folder: Path, *, appendonly: bool = False, **overrides: str) -> AsyncIterator[Cluster]:
    """Bring up a server and a counting model, without workers, and take everything down at the end."""
    model = CountingServer()
    model.gate.set()
    listener = await asyncio.start_unix_server(model.handle, folder / "model.sock", limit=2**20)
    server = RedisServer(folder / "server", appendonly=appendonly)
    started: Cluster | None = None
    try:
        await asyncio.to_thread(server.start)
        settings = {"execution.redis.url": server.url, "service.log_level": "info"}
        settings |= {name.replace("__", "."): value for name, value in overrides.items()}
        arguments = PresetArguments("distributed", settings)
        deployment = build_deployment(arguments.load())
        assert isinstance(deployment, DistributedDeployment)
        async with deployment:
            started = Cluster(folder, server, model, arguments, deployment)
            yield started
    finally:
        for worker in started.workers if started is not None else []:
            worker.kill()
        server.stop()
        listener.close()


async def undisturbed(request: dict[str, Any]) -> dict[str, Any]:
    """Return the proposal that the library makes for a request."""
    answer: dict[str, Any] = (await CompactContextStep(as_decision_model=judge)(**request)).answer
    return answer


def proposal(answer: dict[str, Any]) -> tuple[Any, Any]:
    """Return what two runs of the same request must have in common."""
    return answer["messages"], answer["decisions"]


# The worker process


def _worker() -> int:
    from reme_workers.worker_process import main  # noqa: PLC0415 - only in the worker

    def build(settings: DecisionModelSettings) -> CountedModel:
        del settings
        return CountedModel(os.environ[_MODEL_SOCKET])

    backends.BUILDERS["local"] = build
    return main()


def _supervisor() -> int:
    from reme_workers import supervision  # noqa: PLC0415
    from reme_workers.parent_death import end_with_parent  # noqa: PLC0415

    end_with_parent()
    supervision.WORKER_COMMAND = (sys.executable, _THIS_FILE, "worker")
    told = WorkerArguments.from_environment()
    return supervision.supervise(told.preset, told.role, told.concurrency, told.pool)


if __name__ == "__main__":
    sys.exit({"worker": _worker, "supervisor": _supervisor}[sys.argv[1]]())
