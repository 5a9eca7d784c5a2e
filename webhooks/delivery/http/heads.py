"""The head of a receiver's answer, put into the form that aiohttp reads.

The status line decides an attempt (contract 9), and receivers write the fields behind it clumsily:
aiohttp would refuse all of the answer for that, and the event would be sent again.
"""

import re

TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
BLANKS = (b" ", b"\t")


class Head:
    """One head, which may come in any pieces: each line is put right and passed on at once.

    - A blank before a field's colon is left out, and so is a line that is no field.
    - A length that is said several times is said once, if it is the same each time.
    - A length next to chunks means nothing (RFC 9112 6.3), and the connection is not used again.

    What else is wrong stays as it is, for aiohttp to refuse. An upgrade of aiohttp must pass
    `tests/webhooks/test_clumsy_receivers.py`.
    """

    def __init__(self) -> None:
        self.is_over = False
        self._is_in_status_line, self._is_kept = True, False
        self._line = b""
        self._lengths: list[bytes] = []
        self._is_chunked = False

    def put_right(self, data: bytes) -> tuple[bytes, bytes]:
        """Return what aiohttp is to read of the data, and what comes behind the head."""
        right = b""
        while data and not self.is_over:
            line, end, data = data.partition(b"\n")
            if self._is_in_status_line:
                # Not kept back: something else than HTTP is found out by its first bytes.
                right += line + end
                self._is_in_status_line = not end
                continue
            self._line += line + end
            if end:
                right += self._whole(self._line)
                self._line = b""
        return right, data

    def _whole(self, line: bytes) -> bytes:
        """Return what is to be read when a line has come whole."""
        if not line.rstrip(b"\r\n"):
            self.is_over = True
            return self._length() + line
        if line.startswith(BLANKS):  # It goes on with the field before.
            return line if self._is_kept else b""
        right = self._field(line)
        self._is_kept = bool(right)
        return right

    def _field(self, line: bytes) -> bytes:
        name, colon, value = line.partition(b":")
        name, told = name.rstrip(b" \t"), value.strip().lower()
        if not colon or not TOKEN.fullmatch(name):
            return b""
        if name.lower() == b"content-length":
            self._lengths += [length.strip() for length in told.split(b",")]
            return b""
        if name.lower() == b"transfer-encoding":
            if told == b"identity":  # Of RFC 2616: it says that nothing was done.
                return b""
            self._is_chunked |= told.endswith(b"chunked")
        return name + colon + value

    def _length(self) -> bytes:
        if self._lengths and self._is_chunked:
            return b"Connection: close\r\n"
        return b"".join(b"Content-Length: %b\r\n" % one for one in dict.fromkeys(self._lengths))
