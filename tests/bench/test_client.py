"""The benchmark's clients read every answer that HTTP allows."""

import socket
from threading import Thread

from bench.client import Line

INTERIM = b"HTTP/1.1 100 Continue\r\n\r\n"
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


def test_an_interim_answer_is_not_the_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = Thread(target=_answer, args=(server,))
        thread.start()
        line = Line(server.getsockname()[1])

        assert line.ask(b"GET / HTTP/1.1\r\n\r\n") == (200, b"{}")

        line.close()
        thread.join()


def _answer(server: socket.socket) -> None:
    connection, _address = server.accept()
    with connection:
        connection.recv(1024)
        connection.sendall(INTERIM + INTERIM[:9])
        connection.sendall(INTERIM[9:] + ANSWER)
