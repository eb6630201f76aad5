"""Tell a container's health check whether a worker of a role lives on this host: `python -m ... jobs`."""

import socket
import sys
from collections.abc import Sequence
from typing import cast

import redis

from reme_compact.contract.errors import ReMeError
from reme_compact.presets.load import load_preset
from reme_workers.connection import url_of
from reme_workers.heartbeat import LIVE_MILLISECONDS, heartbeats_key
from reme_workers.worker_arguments import ROLES, Role

_SECONDS = 3


def main(words: Sequence[str]) -> int:
    """Return 0 if a process on this host was heard of lately, else 1, with the reason on standard error."""
    if len(words) != 1 or words[0] not in ROLES:
        return _say(f"name one role: {' or '.join(ROLES)}")
    role: Role = words[0]
    try:
        settings = load_preset("distributed").execution.redis
        client = redis.Redis.from_url(url_of(settings), socket_timeout=_SECONDS, socket_connect_timeout=_SECONDS)
        with client:
            seconds, microseconds = client.time()
            oldest = seconds * 1000 + microseconds // 1000 - LIVE_MILLISECONDS
            key = heartbeats_key(settings.key_prefix, role)
            names = cast("list[bytes]", client.zrangebyscore(key, oldest, "+inf"))
    except ReMeError as error:
        return _say(error.message)
    except redis.RedisError as error:
        return _say(f"Redis cannot be reached ({type(error).__name__})")
    here = f"{socket.gethostname()}:".encode()
    return 0 if any(name.startswith(here) for name in names) else _say(f"no {role} worker lives on this host")


def _say(reason: str) -> int:
    print(reason, file=sys.stderr)  # noqa: T201 - the command's output
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
