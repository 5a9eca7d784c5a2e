"""Limits of the bytes that are read from a receiver, in all and at a time.

A receiver that sends more is cut off. `Tap` counts all bytes below TLS, whatever they are. `Wire`
counts those above TLS that come before the status.
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

from webhooks.delivery.http.heads import Head

# The bytes of one connection that are read before the event loop serves others. Their processing
# takes at most half a millisecond; TLS records with next to nothing in them take longest.
READ_AT_ONCE = 2048
# The bytes before an answer's body, status and headers: as many as nginx takes from a server behind
# it.
HEAD_MAX = 8 * 1024
# Bytes below TLS: those of a handshake with all its certificates, and those of an answer with all
# that TLS puts around it. Of a longer answer the status and the beginning are read.
HANDSHAKE_MAX, ANSWER_MAX = 64 * 1024, 16 * 1024
# Answers before the one that counts (1xx). Servers send one or two: 103 Early Hints, 102.
INTERIM_MAX = 8

# The open sockets by their file number: asyncio hands out a wrapper, not the socket itself.
_taps: WeakValueDictionary[int, "Tap"] = WeakValueDictionary()


class Tap(socket.socket):
    """A socket that gives at most 2 KiB at a time, and fails once more came than was allowed."""

    def __init__(self, *place: Any) -> None:
        super().__init__(*place)
        self.refill(HANDSHAKE_MAX)
        _taps[self.fileno()] = self

    def refill(self, count: int) -> None:
        """Allow this many bytes to be read from now on."""
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
    """A protocol that passes an answer's head to aiohttp's parser apart from the body.

    The head alone decides the attempt (contract 9). Given both in one piece, with a mistake in the
    body, aiohttp would throw the head away too. Interim answers (1xx) are dropped here: aiohttp
    goes through any number of them without giving other deliveries a turn.
    """

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._tap = _taps[transport.get_extra_info("socket").fileno()]
        self._expect_answer()

    def set_response_params(self, **params: Any) -> None:
        """Begin to listen for an answer: called before the request is written."""
        self._tap.refill(ANSWER_MAX)
        self._expect_answer()
        # Fields are bounded by their bytes, however many they are.
        super().set_response_params(**params | {"max_headers": HEAD_MAX})

    def data_received(self, data: bytes) -> None:
        if data and self._is_at_rest():
            # Bytes without a request: aiohttp would take them for the answer to the next one.
            self.abort()
            return
        while data and not self._is_decided and self.exception() is None:
            data = self._take(data)
        if self._is_decided and self.exception() is None:
            super().data_received(data)

    def close(self) -> None:
        """Close the connection at once.

        asyncio's TLS would wait half a minute for the receiver to close it too. Receivers that do
        not, after many deliveries, could use up this process's open files.
        """
        self.abort()

    def feed_data(self, message: tuple[RawResponseMessage, StreamReader], size: int = 0) -> None:
        """Pass an answer's parsed head on to the request, unless it is an interim one (1xx)."""
        code = message[0].code
        if 100 <= code < 200 and code != 101:
            self._interim_left -= 1
        else:
            self._is_decided = True
            super().feed_data(message, size)

    def _expect_answer(self) -> None:
        self._head_left, self._interim_left, self._is_decided = HEAD_MAX, INTERIM_MAX, False
        self._head = Head()

    def _is_at_rest(self) -> bool:
        return self._is_decided and (self._payload is None or self._payload.is_eof())

    def _take(self, data: bytes) -> bytes:
        """Pass the head's part of the data on; return the rest, which comes behind the head."""
        head, rest = self._head.put_right(data)
        if self._head.is_over:
            self._head = Head()
        self._head_left -= len(data) - len(rest)
        if head and self._head_left >= 0:
            super().data_received(head)
        if (self._head_left < 0 or self._interim_left < 0) and self.transport is not None:
            self.set_exception(BadHttpMessage("too much comes before the status"))
            self.transport.abort()
        return rest
