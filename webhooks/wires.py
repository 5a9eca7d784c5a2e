"""How much of a receiver's answer is read, and at once: nothing that it sends is waited out.

Below TLS the bytes are counted, whatever they are; above it, what comes before the status.
"""

import asyncio
import errno
import socket
from typing import Any
from weakref import WeakValueDictionary

from aiohttp.client_proto import ResponseHandler
from aiohttp.http import RawResponseMessage
from aiohttp.http_exceptions import BadHttpMessage
from aiohttp.streams import StreamReader

# The event loop goes round before more of the same connection is read: whatever it is, the work
# on it is half a millisecond. Records of TLS with next to nothing in them are what takes longest.
READ_AT_ONCE = 2048
# All that comes before an answer's body, in bytes: as much as nginx takes of what is behind it.
HEAD_MAX = 8 * 1024
# Of the wire's bytes: a handshake may be so long, with all its certificates, and an answer so long,
# with all that TLS puts around it. Of longer ones the status and the beginning are read.
HANDSHAKE_MAX, ANSWER_MAX = 64 * 1024, 16 * 1024
# Answers before the one that counts (1xx). Servers send one or two: 103 Early Hints, 102.
INTERIM_MAX = 8
END_OF_HEAD = b"\r\n\r\n"

# The sockets that are open, by their number; asyncio does not hand them out.
_taps: WeakValueDictionary[int, "Tap"] = WeakValueDictionary()


class Tap(socket.socket):
    """A socket that gives little at a time, and fails when too much came out of it."""

    def __init__(self, *place: Any) -> None:
        super().__init__(*place)
        self.refill(HANDSHAKE_MAX)
        _taps[self.fileno()] = self

    def refill(self, count: int) -> None:
        """Let so many bytes be read from now on."""
        self._left = count

    def recv(self, size: int, flags: int = 0) -> bytes:
        data = super().recv(min(size, READ_AT_ONCE), flags)
        self._spend(len(data))
        return data

    def recv_into(self, buffer: Any, size: int = 0, flags: int = 0) -> int:
        count = super().recv_into(buffer, min(size or len(buffer), READ_AT_ONCE), flags)
        self._spend(count)
        return count

    def _spend(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise ConnectionAbortedError(errno.ECONNABORTED, "the receiver sends too much")


class Wire(ResponseHandler):
    """Hands an answer's head over by itself, for it decides alone (contract 9).

    With something wrong in the same piece of data behind it, aiohttp would throw it away. Answers
    that come before it are dropped here: aiohttp goes through as many as there are without letting
    anything else be done.
    """

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._tap = _taps[transport.get_extra_info("socket").fileno()]
        self._expect_answer()

    def set_response_params(self, **params: Any) -> None:
        """Begin to listen for an answer: called before the request is written."""
        self._tap.refill(ANSWER_MAX)
        self._expect_answer()
        super().set_response_params(**params)

    def data_received(self, data: bytes) -> None:
        if data and self._is_at_rest():
            # Nobody asked, and nobody looks at what comes until the connection is used again.
            self.abort()
            return
        while data and not self._is_decided and self.exception() is None:
            head, end, data = data.partition(END_OF_HEAD)
            self._take(head + end)
        if self._is_decided and self.exception() is None:
            super().data_received(data)

    def close(self) -> None:
        """Close the connection at once.

        In good form, TLS waits half a minute for a receiver to do the same: with many answers, and
        a receiver that does not, this process has no file left to open.
        """
        self.abort()

    def feed_data(self, message: tuple[RawResponseMessage, StreamReader], size: int = 0) -> None:
        """Take an answer that was read, up to its body."""
        code = message[0].code
        if 100 <= code < 200 and code != 101:
            self._interim_left -= 1
        else:
            self._is_decided = True
            super().feed_data(message, size)

    def _expect_answer(self) -> None:
        self._head_left, self._interim_left, self._is_decided = HEAD_MAX, INTERIM_MAX, False

    def _is_at_rest(self) -> bool:
        return self._is_decided and (self._payload is None or self._payload.is_eof())

    def _take(self, piece: bytes) -> None:
        self._head_left -= len(piece)
        if self._head_left >= 0:
            super().data_received(piece)
        if (self._head_left < 0 or self._interim_left < 0) and self.transport is not None:
            self.set_exception(BadHttpMessage("too much comes before the status"))
            self.transport.abort()
