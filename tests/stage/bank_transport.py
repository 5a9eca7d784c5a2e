"""The test bank inside the test's own process: its real WSGI application, without a socket."""

import io
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import requests
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.test import RequestFactory, override_settings
from requests.adapters import BaseAdapter

import acquirers
from acquirers.gateway import Order
from acquirers.models import Terminal
from acquirers.rails import rail
from acquirers.sandbox.gateway import SandboxGateway
from acquirers.sandbox.transfers import SandboxTransfers
from testbank.handler import open_bank

application = open_bank()

IN_PROCESS_URL = "http://bank.test"


class BankTransport(BaseAdapter):
    """Carry a gateway's requests to the bank, and break the way if told to.

    `fault` is None, or the name of what goes wrong with every request:

    - `cut_before`: the bank is not reached;
    - `lost`: the request leaves and never arrives;
    - `cut_after`: the bank has done its work, the answer is lost;
    - `delay`: the bank has done its work, the gateway stopped waiting;
    - `garble`: the answer arrives as `garbled`.

    `fault_of_posts` may be `cut_before`, for what changes something. `lost` is what never
    arrived. `seen` are the paths that the bank was asked for; `pause_seconds` is how long it takes.
    `meanwhile` is called while a request is on its way.
    """

    # The same reference sent twice is one order at this bank.
    repeats = True
    content_type = "application/json"
    # It refunds a part on the day of the capture, too.
    refunds_on_the_day = True

    def __init__(self) -> None:
        super().__init__()
        self.fault: str | None = None
        self.fault_of_posts: str | None = None
        self.garbled = b"<garbled>"
        self.lost: list[tuple[str, str, bytes]] = []
        self.seen: list[str] = []
        self.pause_seconds = 0.0
        self.meanwhile: Callable[[], object] = lambda: None

    def send(self, request: requests.PreparedRequest, **_kwargs: Any) -> requests.Response:
        if self.fault == "cut_before":
            raise requests.ConnectionError("refused", request=request)
        if self.fault_of_posts == "cut_before" and request.method == "POST":
            raise requests.ConnectionError("refused", request=request)
        if self.fault == "lost":
            self.lost.append((request.method, request.path_url, read_body(request)))
            raise requests.ReadTimeout("timed out", request=request)
        status, content = self._ask(request)
        if self.fault == "cut_after":
            raise requests.ConnectionError("reset", request=request)
        if self.fault == "delay":
            raise requests.ReadTimeout("timed out", request=request)
        return _response(request, status, self.garbled if self.fault == "garble" else content)

    def close(self) -> None:
        pass

    def rehearsal(self) -> AbstractContextManager[None]:
        """Undo nothing: this bank writes in the test's own transaction."""
        return nullcontext()

    def inquiries_seen(self) -> int:
        return sum(path.startswith(("/authorizations/", "/refunds/")) for path in self.seen)

    def work(self) -> None:
        """Let what the test wants happen at the bank, in the time that it takes there."""
        self.meanwhile()
        time.sleep(self.pause_seconds)

    def _ask(self, request: requests.PreparedRequest) -> tuple[int, bytes]:
        self.seen.append(request.path_url)
        self.work()
        return call_bank(request.method, request.path_url, read_body(request))


def read_body(request: requests.PreparedRequest) -> bytes:
    """Read the body as the wire would: the gateway sees by it whether anything was sent."""
    return request.body.read() if hasattr(request.body, "read") else request.body or b""


def call_bank(
    method: str, path: str, sent: bytes, content_type: str = BankTransport.content_type
) -> tuple[int, bytes]:
    """Send one request through the bank's WSGI application; return status and content."""
    environ = RequestFactory().generic(method, path, sent, content_type).environ
    answered: list[str] = []
    with connections_left_open():
        answer = application(environ, lambda status, _headers: answered.append(status))
        content = b"".join(answer)
        answer.close()
    return int(answered[0].split()[0]), content


@contextmanager
def connections_left_open() -> Iterator[None]:
    """Keep a request's end from closing the connection of the test's own transaction."""
    # As Django's own test client does: a request's beginning and end tidy up connections.
    signals = (request_started, request_finished)
    kept = [signal for signal in signals if signal.disconnect(close_old_connections)]
    try:
        yield
    finally:
        for signal in kept:
            signal.connect(close_old_connections)


def sandbox() -> SandboxGateway:
    """Return this process's gateway to the test bank."""
    gateway = acquirers.at(Terminal(kind="sandbox"))
    assert isinstance(gateway, SandboxGateway)
    return gateway


def sandbox_transfers() -> SandboxTransfers:
    """Return this process's adapter for transfers at the test bank."""
    found = rail()
    assert isinstance(found, SandboxTransfers)
    return found


def an_order(reference: str = "ref_1", **changes: Any) -> Order:
    """Return an order that the test bank takes, at a terminal without credentials."""
    terms = {"merchant_id": "mer_acme", "amount": 12500, "currency": "try", **changes}
    return Order(reference=reference, terminal=Terminal(kind="sandbox"), **terms)


@contextmanager
def bank_in_process(transport: BankTransport | None = None) -> Iterator[BankTransport]:
    """Put the test bank behind the installation's gateway for the length of the block.

    A silent bank does not keep the test waiting: it answers its empty 504 at once.

    :param transport: the way to it, one that never breaks by itself if none is given.
    """
    sessions, transport = _sessions(), transport or BankTransport()
    for session in sessions:
        session.mount(IN_PROCESS_URL, transport)
    try:
        with override_settings(TESTBANK_URL=IN_PROCESS_URL, TESTBANK_SILENCE_SECONDS=0):
            yield transport
    finally:
        for session in sessions:
            del session.adapters[IN_PROCESS_URL]


def _sessions() -> list[requests.Session]:
    return [sandbox().session, sandbox_transfers().session]


def _response(request: requests.PreparedRequest, status: int, content: bytes) -> requests.Response:
    response = requests.Response()
    response.request, response.url, response.status_code = request, request.url, status
    response.raw = _Raw(content)
    return response


class _Raw(io.BytesIO):
    """The raw body that `requests` reads a response from; the bank never encodes one."""

    def read(self, size: int | None = -1, decode_content: bool = False) -> bytes:
        return super().read(size)
