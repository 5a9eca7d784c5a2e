"""A wire between the service and what it asks, which the test may hold."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

PATIENCE_SECONDS = 120


class Wire:
    """Passes on all bytes. While it is held, answers wait."""

    def __init__(self, door: socket.socket, url: str) -> None:
        self._door, self._goes_to = door, urlsplit(url)
        self._arrived, self._is_open = threading.Event(), threading.Event()
        self._is_open.set()
        self._ends: list[socket.socket] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._door.getsockname()[1]}"

    def hold(self) -> None:
        self._arrived.clear()
        self._is_open.clear()

    def await_answer(self) -> None:
        assert self._arrived.wait(PATIENCE_SECONDS), "no answer came by"

    def let_go(self) -> None:
        self._is_open.set()

    def serve(self) -> None:
        with suppress(OSError):  # The door is closed at the end.
            while True:
                near, _ = self._door.accept()
                address = self._goes_to.hostname or "", self._goes_to.port or 0
                far = socket.create_connection(address)
                self._ends += (near, far)
                for ends in ((near, far, False), (far, near, True)):
                    threading.Thread(target=self._pass_on, args=ends, daemon=True).start()

    def close(self) -> None:
        for end in self._ends:
            end.close()

    def _pass_on(self, one: socket.socket, other: socket.socket, is_answer: bool) -> None:
        with suppress(OSError):
            while part := one.recv(65_536):
                if is_answer:
                    self._arrived.set()
                    self._is_open.wait(PATIENCE_SECONDS)
                other.sendall(part)
        for end in (one, other):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@contextmanager
def wire_to(url: str) -> Iterator[Wire]:
    with socket.create_server(("127.0.0.1", 0)) as door:
        wire = Wire(door, url)
        threading.Thread(target=wire.serve, daemon=True).start()
        yield wire
        wire.close()
