"""Run the service as a process: listen, log, answer signals, end cleanly."""

import asyncio
import gc
import logging
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from types import FrameType
from typing import cast

import uvicorn
from fastapi import FastAPI

from reme_compact.presets.schema import Preset, ServiceSettings
from reme_compact.service.accept_faults import quietly_out_of_files
from reme_compact.service.app import create_app
from reme_compact.service.binding import BACKLOG, bind, url_of
from reme_compact.service.connection_guard import ConnectionGuard
from reme_compact.service.guarded_connection import GuardedConnection
from reme_compact.service.logs import configure_logging
from reme_compact.service.process_end import end_in_spite_of_threads, run_without_waiting
from reme_compact.service.state import ServiceState

logger = logging.getLogger(__name__)

_SWITCH_INTERVAL_SECONDS = 0.001
"""How soon a worker thread gives way to the event loop; the interpreter's own 5 ms add up with several of them."""

_ACCEPTED_AT_ONCE = 16
"""Connections of which the guard hears only afterwards; a few times as many have to be possible beyond its limit."""
_LAST_WORDS_SECONDS = 0.7
"""How long requests may take to be answered once there is nothing more to wait for; twice within a stop."""

_POLL_SECONDS = 0.02


def serve(preset: Preset) -> None:
    """Serve until SIGINT or SIGTERM; requests under way then get `service.shutdown_grace_seconds` to finish.

    Takes over the process's logging. If something of the decision model is still stuck in a thread afterwards, the
    process ends here.

    Raises:
        ReMeError: the address cannot be had, or the decision model cannot be built.

    """
    settings = preset.service
    sys.setswitchinterval(_SWITCH_INTERVAL_SECONDS)
    configure_logging(settings.log_format, settings.log_level)
    with bind(settings.host, settings.port, has_api_key=bool(settings.api_keys)) as listener:
        server = Server(create_app(preset), settings)
        with _ended_by_signals(server):
            run_without_waiting(server.run_on(listener))
    if preset.execution.runner == "local":  # otherwise there may be workers that have to be taken down
        end_in_spite_of_threads()


class Server(uvicorn.Server):
    """A uvicorn server that starts the application itself, so that a failing start raises its own error."""

    def __init__(self, app: FastAPI, settings: ServiceSettings) -> None:
        self._app = app
        self._grace_seconds = settings.shutdown_grace_seconds
        self._guard = ConnectionGuard(settings)
        super().__init__(
            uvicorn.Config(
                app,
                lifespan="off",
                interface="asgi3",
                loop="asyncio",
                http=cast("type[asyncio.Protocol]", partial(GuardedConnection, guard=self._guard)),
                ws="none",
                backlog=_ACCEPTED_AT_ONCE,
                proxy_headers=False,
                server_header=False,
                log_config=None,
            )
        )

    async def run_on(self, listener: socket.socket) -> None:
        """Start the application, serve on a listening socket until `should_exit`, stop the application.

        Raises:
            ReMeError: the application cannot start.

        """
        _send_at_once(listener)
        asyncio.get_running_loop().set_exception_handler(quietly_out_of_files)
        async with self._app.router.lifespan_context(self._app):
            # What was loaded by now stays; looking through it again with every collection only takes time.
            gc.freeze()
            if not self.should_exit:
                logger.info("listening", extra={"address": url_of(listener)})
                await self._serve_guarded(listener)
        logger.info("stopped")

    async def _serve_guarded(self, listener: socket.socket) -> None:
        watching = asyncio.create_task(self._guard.watch(lambda: self._connections))
        try:
            await self.serve(sockets=[listener])
        finally:
            watching.cancel()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to accept."""
        await super().startup(sockets)
        for listener in sockets or []:
            # asyncio has one number for this and for how many it accepts without looking at anything else.
            listener.listen(BACKLOG)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting, let what clients wait for finish for the grace, end the jobs that have not, then cut."""
        service: ServiceState = self._app.state.service
        for listener in (*self.servers, *(sockets or ())):
            listener.close()
        self._guard.begin_stop()
        service.begin_stop()
        for connection in self._connections:
            connection.shutdown()
        await self._all_answered(within=self._grace_seconds)
        await service.end_jobs()
        await self._all_answered(within=_LAST_WORDS_SECONDS)
        await self._cut()

    @property
    def _connections(self) -> list[GuardedConnection]:
        return cast("list[GuardedConnection]", list(self.server_state.connections))

    async def _all_answered(self, *, within: float) -> None:
        """Wait until every request is answered and every connection closed, but not for long."""
        now = asyncio.get_running_loop().time
        deadline = now() + within
        state = self.server_state
        # uvicorn tells nobody when these become empty.
        while (state.connections or state.tasks) and not self.force_exit and now() < deadline:  # noqa: ASYNC110
            await asyncio.sleep(_POLL_SECONDS)

    async def _cut(self) -> None:
        """Cancel the requests that are left; the application still answers those it can."""
        if not self.server_state.connections and not self.server_state.tasks:
            return
        logger.warning("requests given up", extra={"requests": len(self.server_state.tasks)})
        for task in list(self.server_state.tasks):
            task.cancel()
        await self._all_answered(within=_LAST_WORDS_SECONDS)
        for connection in self._connections:
            connection.cut()

    def capture_signals(self) -> nullcontext[None]:  # type: ignore[override]
        """Leave signals alone: uvicorn's way would end the process with the signal's status, not with 0."""
        return nullcontext()


def _send_at_once(listener: socket.socket) -> None:
    """Let accepted connections send small packets without waiting for the one before to be acknowledged.

    asyncio does that only for sockets that name their protocol, and an answer whose head and body are two packets
    would take 40 ms longer.
    """
    if listener.family in {socket.AF_INET, socket.AF_INET6}:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


@contextmanager
def _ended_by_signals(server: Server) -> Iterator[None]:
    """Let SIGINT and SIGTERM end the server, also while it starts; a second SIGINT ends it without grace."""

    def end(number: int, _: FrameType | None) -> None:
        server.force_exit |= server.should_exit and number == signal.SIGINT
        server.should_exit = True

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
