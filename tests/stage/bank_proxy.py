"""A real proxy between us and a bank: it tunnels, passes plain requests on, and may refuse."""

import base64
import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

NAME, PASSWORD = "pay", "let-me-out"  # noqa: S105 - Of this proxy.
WANTED = b"Proxy-Authorization: Basic " + base64.b64encode(f"{NAME}:{PASSWORD}".encode())


@dataclass
class BankProxy:
    """A proxy that wants a password; `asked` has the first line of each connection's request."""

    port: int
    refuses: bool = False
    asked: list[bytes] = field(default_factory=list)
    passed: bytearray = field(default_factory=bytearray)

    @property
    def url(self) -> str:
        return f"http://{NAME}:{PASSWORD}@127.0.0.1:{self.port}"


@contextmanager
def bank_proxy() -> Iterator[BankProxy]:
    with socket.create_server(("127.0.0.1", 0)) as door:
        proxy = BankProxy(door.getsockname()[1])
        threading.Thread(target=_serve, args=(door, proxy), daemon=True).start()
        yield proxy


def _serve(door: socket.socket, proxy: BankProxy) -> None:
    with suppress(OSError):  # The door is closed at the end.
        while True:
            link, _ = door.accept()
            threading.Thread(target=_pass_on, args=(link, proxy), daemon=True).start()


def _pass_on(link: socket.socket, proxy: BankProxy) -> None:
    with link, suppress(OSError):
        head = b""
        while b"\r\n\r\n" not in head:
            head += link.recv(65536)
        first = head.partition(b"\r\n")[0]
        proxy.asked.append(first)
        if proxy.refuses or WANTED.lower() not in head.lower():
            link.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
            return
        method, target, _version = first.split(b" ")
        named = target if method == b"CONNECT" else urlsplit(target).netloc
        host, _, port = named.decode().rpartition(":")
        with socket.create_connection((host, int(port)), timeout=5) as bank:
            if method == b"CONNECT":
                link.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                bank.sendall(head)
            _both_ways(link, bank, proxy)


def _both_ways(link: socket.socket, bank: socket.socket, proxy: BankProxy) -> None:
    others = {link: bank, bank: link}
    while True:
        for one in select.select([link, bank], [], [], 5)[0]:
            if not (taken := one.recv(65536)):
                return
            proxy.passed += taken
            others[one].sendall(taken)
