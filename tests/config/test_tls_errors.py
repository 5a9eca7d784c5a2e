"""A client's TLS error is a line in the log, and no crash; one of our own stays a crash."""

import socket
import ssl
from typing import Any

import pytest

from config.gunicorn import EnvelopeWorker

NO_HELLO = {
    "HTTP_REQUEST": b"GET /v1/balance HTTP/1.1\r\nHost: pay.example\r\n\r\n",
    "WRONG_VERSION_NUMBER": b"\0\1\2" * 20,
}


def told(client: socket.socket, problem: Exception, caplog: Any) -> list[tuple[str, str]]:
    """Return event and level of what the worker logs of a problem with a connection."""
    EnvelopeWorker.handle_error(None, None, client, ("203.0.113.7", 4711), problem)
    return [(record.msg["event"], record.levelname) for record in caplog.records]


@pytest.mark.parametrize("reason", NO_HELLO)
def test_a_client_that_speaks_no_tls_is_no_crash(reason: str, caplog: Any) -> None:
    ours, theirs = socket.socketpair()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with theirs, context.wrap_socket(ours, server_side=True, do_handshake_on_connect=False) as end:
        theirs.sendall(NO_HELLO[reason])
        with pytest.raises(ssl.SSLError) as refused:
            end.do_handshake()

        with caplog.at_level("INFO"):
            lines = told(end, refused.value, caplog)

    assert lines == [("tls_refused", "INFO")]
    assert caplog.records[0].msg["reason"] == reason


def test_a_certificate_of_ours_that_cannot_be_read_is_a_crash(caplog: Any, tmp_path: Any) -> None:
    broken = tmp_path / "certificate.pem"
    broken.write_text("none")
    with pytest.raises(ssl.SSLError) as refused:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(broken)

    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert ("request_crashed", "ERROR") in told(ours, refused.value, caplog)
