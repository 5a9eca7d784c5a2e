"""Calls to banks by a proxy with a fixed address (`ACQUIRER_PROXY_URL`): a real one is between."""

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import requests

from acquirers import wire
from tests.stage.bank_proxy import PASSWORD, BankProxy, bank_proxy
from tests.stage.own_ports import refusing_port
from tests.stage.receivers import Authority

NUMBER = "4242424242424242"


class Bank(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        answer = b'{"result": "approved"}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_args: Any) -> None:
        pass


@contextmanager
def bank(certificate: Path | None = None) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Bank)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"{'https' if certificate else 'http'}://127.0.0.1:{server.server_port}/api"
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def proxy(settings: Any) -> Iterator[BankProxy]:
    with bank_proxy() as proxy:
        settings.ACQUIRER_PROXY_URL = proxy.url
        yield proxy


@pytest.fixture
def session() -> Iterator[requests.Session]:
    with wire.new_session() as session:
        yield session


def post(session: requests.Session, url: str) -> Any:
    return wire.post_json(session, url, {"number": NUMBER}, seconds=5)


def test_a_call_trusts_the_authorities_of_the_host_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = Authority(tmp_path)
    trusted = tmp_path / "authority.pem"
    trusted.write_text(authority.pem)
    with bank(authority.certificate("127.0.0.1")) as url:
        with wire.new_session() as session, pytest.raises(wire.NotSent):
            post(session, url)

        monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
        with wire.new_session() as session:
            assert post(session, url) == {"result": "approved"}
            assert session.verify == str(trusted)


def test_a_call_over_tls_is_tunnelled_and_the_proxy_reads_nothing(
    session: requests.Session, proxy: BankProxy, tmp_path: Path
) -> None:
    authority = Authority(tmp_path)
    trusted = tmp_path / "authority.pem"
    trusted.write_text(authority.pem)
    session.verify = str(trusted)
    with bank(authority.certificate("127.0.0.1")) as url:
        for _ in range(3):
            assert post(session, url) == {"result": "approved"}

    # One connection for all: it is kept by the proxy too.
    [first] = proxy.asked
    assert first.startswith(b"CONNECT 127.0.0.1:")
    assert NUMBER.encode() not in proxy.passed
    assert len(proxy.passed) > 1000


def test_a_plain_call_of_a_sandbox_passes_it(session: requests.Session, proxy: BankProxy) -> None:
    with bank() as url:
        assert post(session, url) == {"result": "approved"}

    assert proxy.asked == [f"POST {url} HTTP/1.1".encode()]


def test_without_the_setting_no_call_passes_it(
    session: requests.Session, proxy: BankProxy, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.ACQUIRER_PROXY_URL = ""
    monkeypatch.setenv("HTTP_PROXY", proxy.url)
    with bank() as url:
        post(session, url)

    assert proxy.asked == []


def test_a_proxy_that_refuses_or_is_away_has_sent_nothing(
    session: requests.Session, proxy: BankProxy, settings: Any, tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    proxy.refuses = True
    with pytest.raises(wire.NotSent):
        post(session, "https://bank.example/api")
    with refusing_port() as port:
        settings.ACQUIRER_PROXY_URL = f"http://pay:{PASSWORD}@127.0.0.1:{port}"
        with pytest.raises(wire.NotSent):
            post(session, "https://bank.example/api")

    assert "bank_call_failed" in caplog.text
    assert PASSWORD not in caplog.text
