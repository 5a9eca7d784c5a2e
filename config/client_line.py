"""The connection to a client, and the test whether the client still listens."""

import select
import socket

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
# How long a client's machine has to say that the connection is no more.
REFUSAL_MS = 250
# Linux tells of an end that came behind bytes not read yet; elsewhere it is read for.
PEER_ENDED = getattr(select, "POLLRDHUP", 0)
GONE = select.POLLERR | select.POLLHUP


class ClientLine:
    """A request's connection while it is served.

    A client that ended its side may still wait for its answer: HTTP allows to send a request,
    close for writing, and read on. TCP shows the difference only when something is sent: a
    machine whose program has left answers with a reset, one that listens takes it. So such a
    client, and no other, is sent the interim answer `100 Continue`, which says nothing and
    which HTTP/1.1 lets a server send at any time. HTTP/1.0 has none: its client has left.
    """

    def __init__(self, sock: socket.socket, *, takes_interim: bool) -> None:
        self._socket = sock
        self._takes_interim = takes_interim
        self._is_half_closed = False

    def has_hung_up(self) -> bool:
        """Look, without a wait unless the client has ended its side; no byte is taken."""
        signs = self._signs(PEER_ENDED)
        if signs & GONE:
            return True
        if self._is_half_closed or not self._has_ended(signs):
            return False
        self._is_half_closed = self._takes_interim and self._is_listening()
        return not self._is_half_closed

    def _signs(self, of: int, *, wait_ms: int = 0) -> int:
        poll = select.poll()
        poll.register(self._socket, of)
        return next((signs for _fd, signs in poll.poll(wait_ms)), 0)

    def _has_ended(self, signs: int) -> bool:
        if PEER_ENDED:
            return bool(signs & PEER_ENDED)
        try:
            return not self._socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def _is_listening(self) -> bool:
        try:
            self._socket.send(CONTINUE, socket.MSG_DONTWAIT)
        except OSError:
            return False
        return not self._signs(0, wait_ms=REFUSAL_MS) & GONE
