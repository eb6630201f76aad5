"""A service behind a proxy that speaks TLS."""

import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from reme_compact.client import ServiceUnreachableError

OPENSSL = shutil.which("openssl")
pytestmark = pytest.mark.skipif(OPENSSL is None, reason="needs openssl to make a certificate")


class Alive(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b'{"status": "alive", "version": "1"}'
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Stay silent."""


class Quiet(HTTPServer):
    def handle_error(self, *_: object) -> None:
        """A caller that does not trust the certificate goes away."""


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tls")
    chain, key = folder / "chain.pem", folder / "key.pem"
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=reme"
    subprocess.run(  # noqa: S603 - a program of the system
        [str(OPENSSL), *words.split(), "-addext", "subjectAltName=IP:127.0.0.1", "-out", chain, "-keyout", key],
        check=True,
        capture_output=True,
    )
    return chain, key


@pytest.fixture
def proxy(certificate: tuple[Path, Path]) -> Iterator[str]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    with Quiet(("127.0.0.1", 0), Alive) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"https://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_who_is_trusted_is_called(proxy: str, certificate: tuple[Path, Path], connect: Any) -> None:
    trust = ssl.create_default_context(cafile=certificate[0])
    assert connect(proxy, tls=trust).health().status == "alive"


def test_a_stranger_is_not(proxy: str, connect: Any) -> None:
    with pytest.raises(ServiceUnreachableError, match="CERTIFICATE_VERIFY_FAILED"):
        connect(proxy).health()
