"""Nothing of an attempt is sent, or read, once its time is over: somebody else may have made it."""

import asyncio
import itertools
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from threading import Event, Thread
from typing import Any

import pytest

from tests.stage.deliveries import deliver, delivery, post, send
from tests.stage.receivers import receiver
from webhooks.delivery.http import connections
from webhooks.delivery.http.progress import TooLate
from webhooks.delivery.http.wires import Tap
from webhooks.delivery.moments import Moment

# No busy machine takes so long for an attempt.
LONG_SECONDS, VERY_LONG_SECONDS = 30.0, 60.0
PATIENCE_SECONDS = 60


@pytest.fixture(autouse=True)
def _time_enough(settings: Any) -> None:
    settings.WEBHOOK_TIMEOUT_SECONDS = LONG_SECONDS


def seconds_ago(seconds: float) -> Moment:
    return Moment(time.monotonic() - seconds, time.time() - seconds)


def test_a_request_whose_time_is_over_is_not_written(settings: Any, monkeypatch: Any) -> None:
    long_ago = seconds_ago(VERY_LONG_SECONDS)
    with receiver() as theirs:
        monkeypatch.setattr(Moment, "now", lambda: long_ago)
        with pytest.raises(TooLate):
            deliver(theirs, settings)

    assert theirs.requests == []


def test_a_delivery_that_was_claimed_long_ago_is_not_written(settings: Any) -> None:
    # Half of what is left beside the attempt may pass before it is sent: 200 seconds.
    settings.WEBHOOK_LEASE_SECONDS = LONG_SECONDS + 400
    with receiver() as theirs:
        settings.WEBHOOK_DEV_HOSTS = [theirs.host]
        for seconds, refusal in ((200, nullcontext()), (231, pytest.raises(TooLate))):
            with refusal:
                send(delivery(theirs.url, since=seconds_ago(seconds)))

    assert len(theirs.requests) == 1


@pytest.mark.parametrize("system_takes_bytes", [20_000, 2_000_000])
def test_who_reads_too_late_does_not_find_it_any_more(
    system_takes_bytes: int, settings: Any, monkeypatch: Any
) -> None:
    open_socket, found = connections._open_socket, list[bytes]()
    opened, is_over, is_read = list[socket.socket](), Event(), Event()

    def with_room(*place: Any) -> socket.socket:
        ours = open_socket(*place)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, system_takes_bytes)
        opened.append(ours)
        return ours

    def once_hung_up() -> bool:
        """Let the receiver read as soon as our side has closed, and wait until it has read."""
        if all(ours.fileno() == -1 for ours in opened):
            is_over.set()
        return is_read.is_set()

    def reads_late(wire: socket.socket) -> None:
        is_over.wait(PATIENCE_SECONDS)
        with suppress(ConnectionResetError):
            while part := wire.recv(100_000):
                found.append(part)
        is_read.set()

    monkeypatch.setattr(connections, "_open_socket", with_room)
    settings.WEBHOOK_TIMEOUT_SECONDS = 0.5
    with one_connection(reads_late) as host:
        settings.WEBHOOK_DEV_HOSTS = [host]
        one = delivery(f"http://{host}/", body=b"x" * 1_000_000)
        [answer] = send(one, may_go_on=once_hung_up)

    assert answer.error == "timeout"
    assert sum(map(len, found)) < 100_000


@contextmanager
def one_connection(behaviour: Callable[[socket.socket], None]) -> Iterator[str]:
    """Take a connection whose other end can hold little that is not read; yields `host:port`."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)

        def talk() -> None:
            wire, _peer = listener.accept()
            with wire:
                behaviour(wire)

        thread = Thread(target=talk, daemon=True)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        thread.join(PATIENCE_SECONDS)


def test_wherever_the_process_stands_still_nothing_is_sent_too_late(settings: Any) -> None:
    late: list[int] = []
    for step in itertools.count():
        sent_afterwards = sent_after_standing_still(step, settings)
        if sent_afterwards is None:
            break
        late += [step] * sent_afterwards

    assert step > 20, "two deliveries take more steps of the event loop than that"
    assert late == []


def sent_after_standing_still(at_step: int, settings: Any) -> int | None:
    """Make two deliveries on one connection; before a step of the event loop a minute goes by.

    :return: the number of deliveries sent after it; None if there are fewer steps.
    """
    run, send, steps = asyncio.Handle._run, Tap.send, itertools.count()
    sent_before, sent_after = list[bytes](), list[bytes]()
    sent = sent_before
    with receiver() as theirs, pytest.MonkeyPatch.context() as patch:

        def stand_still(handle: Any) -> None:
            nonlocal sent
            if next(steps) == at_step:
                patch.setattr(Moment, "age_seconds", VERY_LONG_SECONDS)
                sent = sent_after
            run(handle)

        def note(tap: Tap, part: bytes) -> int:
            sent.append(part)
            return send(tap, part)

        patch.setattr(asyncio.Handle, "_run", stand_still)
        patch.setattr(Tap, "send", note)
        settings.WEBHOOK_DEV_HOSTS = [theirs.host]
        with suppress(TooLate):
            post(theirs.url, theirs.url)
    if sent is sent_after:
        return len(sent_after)
    assert len(sent_before) == 2
    return None
