"""What the event loop says when the process may open no more files: now and then instead of without end."""

import asyncio
import logging
from typing import Any

from reme_compact.service.throttled_log import ThrottledLog

_OUT_OF_FILES = "socket.accept() out of system resource"
_throttled = ThrottledLog(
    logging.getLogger(__name__),
    "no connection can be accepted: the process may open no more files (ulimit -n, service.max_connections)",
    logging.ERROR,
)


def quietly_out_of_files(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Handle what no task handled, as the loop would, except for what it repeats for every waiting connection."""
    if context.get("message") == _OUT_OF_FILES:
        _throttled.happened()
    else:
        loop.default_exception_handler(context)
