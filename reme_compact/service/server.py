"""Run the service as a process: listen, log, answer signals, end cleanly."""

import asyncio
import gc
import logging
import math
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from types import FrameType

import uvicorn
from fastapi import FastAPI

from reme_compact.presets.schema import Preset, ServiceSettings
from reme_compact.service.app import create_app
from reme_compact.service.binding import bind, url_of
from reme_compact.service.logs import configure_logging
from reme_compact.service.state import ServiceState

logger = logging.getLogger(__name__)

_SWITCH_INTERVAL_SECONDS = 0.001
"""How soon a worker thread gives way to the event loop; the interpreter's own 5 ms add up with several of them."""


def serve(preset: Preset) -> None:
    """Serve until SIGINT or SIGTERM; requests under way then get `service.shutdown_grace_seconds` to finish.

    Takes over the process's logging.

    Raises:
        ReMeError: the address cannot be had, or the decision model cannot be built.

    """
    settings = preset.service
    sys.setswitchinterval(_SWITCH_INTERVAL_SECONDS)
    configure_logging(settings.log_format, settings.log_level)
    with bind(settings.host, settings.port, has_api_key=bool(settings.api_keys)) as listener:
        server = Server(create_app(preset), settings)
        with _ended_by_signals(server):
            asyncio.run(server.run_on(listener))


class Server(uvicorn.Server):
    """A uvicorn server that starts the application itself, so that a failing start raises its own error."""

    def __init__(self, app: FastAPI, settings: ServiceSettings) -> None:
        self._app = app
        super().__init__(
            uvicorn.Config(
                app,
                lifespan="off",
                interface="asgi3",
                loop="asyncio",
                ws="none",
                proxy_headers=False,
                server_header=False,
                log_config=None,
                timeout_graceful_shutdown=math.ceil(settings.shutdown_grace_seconds),
            )
        )

    async def run_on(self, listener: socket.socket) -> None:
        """Start the application, serve on a listening socket until `should_exit`, stop the application.

        Raises:
            ReMeError: the application cannot start.

        """
        _send_at_once(listener)
        async with self._app.router.lifespan_context(self._app):
            # What was loaded by now stays; looking through it again with every collection only takes time.
            gc.freeze()
            if not self.should_exit:
                logger.info("listening", extra={"address": url_of(listener)})
                await self.serve(sockets=[listener])
        logger.info("stopped")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting, end streams, and let the other requests finish."""
        service: ServiceState = self._app.state.service
        service.begin_stop()
        await super().shutdown(sockets)

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
