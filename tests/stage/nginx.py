"""nginx before web processes of a test, with the file of deploy/."""

import http.client
import os
import shutil
import signal
import socket
import ssl
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from devstack.state import ROOT
from tests.stage.own_ports import own_ports
from tests.stage.receivers import Authority
from tests.stage.web_process import PATIENCE_SECONDS, WebProcess

HOST = "pay.example"
# Settings of those web processes.
BEHIND_IT = {"BEHIND_PROXY": "true", "BASE_URL": f"https://{HOST}", "PANEL_URL": f"https://{HOST}"}
AROUND = """
daemon off;
pid {home}/pid;
error_log {home}/error.log;
events {{ }}
http {{
    client_body_temp_path {home}/bodies;
    proxy_temp_path {home}/answers;
    fastcgi_temp_path {home}/fastcgi;
    scgi_temp_path {home}/scgi;
    uwsgi_temp_path {home}/uwsgi;
    include {home}/pay.conf;
}}
"""


class Nginx:
    """nginx with the file of deploy/, on free ports; it has no place for a body on a disk.

    :param host: the name of its certificate.
    :param changed: parts of the file, and the texts in their places.
    """

    def __init__(
        self,
        home: Path,
        *webs: WebProcess,
        host: str = HOST,
        changed: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.home, ports = home, own_ports("tls", "clear")
        self.tls, self.clear = int(ports["tls"]), int(ports["clear"])
        self.authority = Authority(home)
        chain = self.authority.certificate(host)
        text = (ROOT / "deploy/nginx/pay.conf").read_text()
        for there, here in {
            **changed,
            "listen 443 ": f"listen 127.0.0.1:{self.tls} ",
            "listen 80;": f"listen 127.0.0.1:{self.clear};",
            "    server 127.0.0.1:8000;": "\n".join(
                f"    server 127.0.0.1:{web.port};" for web in webs
            ),
            "/etc/pay/tls/fullchain.pem": str(chain),
            "/etc/pay/tls/privkey.pem": str(chain),
            "/var/log/nginx": str(home),
        }.items():
            assert there in text, there
            text = text.replace(there, here)
        (home / "pay.conf").write_text(text)
        (home / "nginx.conf").write_text(AROUND.format(home=home))
        self._process = subprocess.Popen(
            [_program(), "-p", home, "-c", home / "nginx.conf"], stderr=subprocess.DEVNULL
        )
        self._await_start()
        for room in ("bodies", "answers"):
            shutil.rmtree(home / room)

    def _await_start(self) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.tls)).close()
            except OSError:
                assert self._process.poll() is None, (self.home / "error.log").read_text()
                assert time.monotonic() < deadline
                time.sleep(0.02)
            else:
                return

    def ask(
        self, method: str, path: str, body: bytes | None = None, *, tls: bool = True, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        wire: http.client.HTTPConnection
        if tls:
            trust = ssl.create_default_context(cadata=self.authority.pem)
            trust.check_hostname = False  # It is asked by its address.
            wire = http.client.HTTPSConnection("127.0.0.1", self.tls, timeout=60, context=trust)
        else:
            wire = http.client.HTTPConnection("127.0.0.1", self.clear, timeout=60)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            wire.request(method, path, body, {"Host": HOST, **named})
            answer = wire.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            wire.close()

    @property
    def logs(self) -> str:
        return "".join(log.read_text() for log in self.home.glob("*.log"))

    def stop(self) -> None:
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait(PATIENCE_SECONDS)


def _program() -> str:
    found = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    if not found:
        pytest.skip("nginx is not installed")
    return found
