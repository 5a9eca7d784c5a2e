"""Proxies before web processes of a test, with the files of deploy/."""

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
from tests.stage.web_process import PATIENCE_SECONDS

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
CADDY_AROUND = """
{{
	admin off
	http_port {clear}
	https_port {tls}
"""


class Proxy:
    """A process that serves a host on two free ports: one with TLS, and one in the clear.

    :param host: the name of its certificate.
    """

    def __init__(self, home: Path, host: str = HOST) -> None:
        self.home, self.host, ports = home, host, own_ports("tls", "clear")
        self.tls, self.clear = int(ports["tls"]), int(ports["clear"])
        self.authority = Authority(home)
        self.chain = self.authority.certificate(host)

    def start(self, *command: str | Path, **settings: str) -> None:
        """Start the process, and wait until it listens."""
        with (self.home / "output.log").open("w") as log:
            environ = {**os.environ, **settings}
            self._process = subprocess.Popen(command, stdout=log, stderr=log, env=environ)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.tls)).close()
            except OSError:
                assert self._process.poll() is None, self.logs
                assert time.monotonic() < deadline
                time.sleep(0.02)
            else:
                return

    def ask(
        self, method: str, path: str, body: bytes | None = None, *, tls: bool = True, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        wire = http.client.HTTPConnection("127.0.0.1", self.tls if tls else self.clear, timeout=60)
        try:
            if tls:
                trust = ssl.create_default_context(cadata=self.authority.pem)
                wire.connect()
                wire.sock = trust.wrap_socket(wire.sock, server_hostname=self.host)
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


class Nginx(Proxy):
    """nginx; it has no place for a body on a disk.

    :param upstreams: the addresses of web processes, as nginx writes them.
    :param changed: parts of the file, and the texts in their places.
    """

    def __init__(
        self,
        home: Path,
        *upstreams: str,
        host: str = HOST,
        changed: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        super().__init__(home, host)
        text = (ROOT / "deploy/nginx/pay.conf").read_text()
        for there, here in {
            **changed,
            "listen 443 ": f"listen 127.0.0.1:{self.tls} ",
            "listen 80;": f"listen 127.0.0.1:{self.clear};",
            "    server 127.0.0.1:8000;": "\n".join(f"    server {one};" for one in upstreams),
            "/etc/pay/tls/fullchain.pem": str(self.chain),
            "/etc/pay/tls/privkey.pem": str(self.chain),
            "/var/log/nginx": str(home),
        }.items():
            assert there in text, there
            text = text.replace(there, here)
        (home / "pay.conf").write_text(text)
        (home / "nginx.conf").write_text(AROUND.format(home=home))
        self.start(_found("nginx"), "-p", home, "-c", home / "nginx.conf")
        for room in ("bodies", "answers"):
            shutil.rmtree(home / room)


class Caddy(Proxy):
    """Caddy, with a certificate that it need not fetch.

    :param upstream: the address of a web process.
    """

    def __init__(self, home: Path, upstream: str) -> None:
        super().__init__(home)
        text = (ROOT / "deploy/caddy/Caddyfile").read_text()
        site = "\n{$PAY_HOST:pay.example} {\n"
        for there, here in {
            "\n{\n": CADDY_AROUND.format(tls=self.tls, clear=self.clear),
            site: f"{site}\ttls {self.chain} {self.chain}\n",
        }.items():
            assert text.count(there) == 1, there
            text = text.replace(there, here)
        (home / "Caddyfile").write_text(text)
        given = {"PAY_HOST": HOST, "PAY_WEB": upstream}
        own = {name: str(home) for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME")}
        file = ["--adapter", "caddyfile", "--config", home / "Caddyfile"]
        self.start(_found("caddy"), "run", *file, **given, **own)


def _found(program: str) -> str:
    found = shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin")
    if not found:
        pytest.skip(f"{program} is not installed")
    return found
