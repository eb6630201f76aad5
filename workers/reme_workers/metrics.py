"""Metrics of a worker process, which Prometheus asks for at an address of their own."""

from dataclasses import dataclass
from threading import Thread
from wsgiref.simple_server import WSGIServer

from prometheus_client import CollectorRegistry, ProcessCollector, start_http_server

from reme_compact.contract.errors import ConfigurationError
from reme_compact.service.job_metrics import JobMetrics


@dataclass(frozen=True, slots=True)
class WorkerMetrics:
    """The metrics of one worker and the server that tells them.

    Attributes:
        observer: give it to whatever runs jobs or sweeps in this process.
        port: where they are served; the one that was asked for, unless that was 0.
    """

    observer: JobMetrics
    port: int
    _server: WSGIServer
    _thread: Thread

    def stop(self) -> None:
        """Stop serving them."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def serve_worker_metrics(port: int, host: str = "127.0.0.1") -> WorkerMetrics:
    """Serve the metrics of this process at `http://host:port/metrics`, from a thread, until `stop`.

    There is no API key: they hold counts only, but bind them where only Prometheus comes.

    Args:
        port: 0 takes any free port.
        host: the address; on any but a loopback one others can read the metrics.

    Raises:
        ConfigurationError: the address cannot be had.
    """
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    observer = JobMetrics(registry)
    try:
        server, thread = start_http_server(port, host, registry)
    except OSError as error:
        raise ConfigurationError(f"metrics_port: cannot listen on {host} port {port}: {error.strerror}.") from None
    return WorkerMetrics(observer, server.server_port, server, thread)
