"""The metrics of a worker process, over HTTP."""

import socket

import httpx
import pytest
from reme_workers.metrics import serve_worker_metrics

from reme_compact.contract.errors import ConfigurationError


def test_they_are_served_on_loopback_until_they_are_stopped() -> None:
    metrics = serve_worker_metrics(0)
    try:
        metrics.observer.job_started("a", attempt=1)
        metrics.observer.job_finished("a", "released", seconds=1, proposal=None)
        answer = httpx.get(f"http://127.0.0.1:{metrics.port}/metrics")
    finally:
        metrics.stop()
    assert answer.status_code == 200
    assert 'reme_job_runs_left_total{end="released"} 1.0' in answer.text
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"http://127.0.0.1:{metrics.port}/metrics")


def test_two_workers_in_one_process_count_for_themselves() -> None:
    first, second = serve_worker_metrics(0), serve_worker_metrics(0)
    try:
        first.observer.job_started("a", attempt=1)
        texts = [httpx.get(f"http://127.0.0.1:{metrics.port}/metrics").text for metrics in (first, second)]
    finally:
        first.stop()
        second.stop()
    assert "reme_job_runs_started_total 1.0" in texts[0]
    assert "reme_job_runs_started_total 0.0" in texts[1]


def test_a_port_in_use_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(ConfigurationError, match=f"metrics_port: cannot listen on 127.0.0.1 port {port}"):
            serve_worker_metrics(port)
