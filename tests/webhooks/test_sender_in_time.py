"""Nothing of an attempt is sent, or read, once its time is over: somebody else may have made it."""

import asyncio
import itertools
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from threading import Thread
from typing import Any

import pytest

from tests.stage.deliveries import deliver, delivery, post, send
from tests.stage.receivers import receiver
from webhooks.delivery.http import connections
from webhooks.delivery.http.progress import TooLate
from webhooks.delivery.moments import Moment


@pytest.fixture(autouse=True)
def _one_second(settings: Any) -> None:
    settings.WEBHOOK_TIMEOUT_SECONDS = 1.0


def test_a_request_whose_time_is_over_is_not_written(settings: Any, monkeypatch: Any) -> None:
    long_ago = Moment(time.monotonic() - 6, time.time() - 6)
    with receiver() as theirs:
        monkeypatch.setattr(Moment, "now", lambda: long_ago)
        with pytest.raises(TooLate):
            deliver(theirs, settings)

    assert theirs.requests == []


def test_a_delivery_that_was_claimed_long_ago_is_not_written(settings: Any) -> None:
    settings.WEBHOOK_LEASE_SECONDS = 5.0  # Two seconds of it may pass before it is sent.
    with receiver() as theirs:
        settings.WEBHOOK_DEV_HOSTS = [theirs.host]
        for seconds, refusal in ((2.5, nullcontext()), (3.5, pytest.raises(TooLate))):
            since = Moment(time.monotonic() - seconds, time.time() - seconds)
            with refusal:
                send(delivery(theirs.url, since=since))

    assert len(theirs.requests) == 1


@pytest.mark.parametrize("system_takes_bytes", [20_000, 2_000_000])
def test_who_reads_too_late_does_not_find_it_any_more(
    system_takes_bytes: int, settings: Any, monkeypatch: Any
) -> None:
    open_socket, found = connections._open_socket, list[bytes]()

    def with_room(*place: Any) -> socket.socket:
        ours = open_socket(*place)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, system_takes_bytes)
        return ours

    def reads_late(wire: socket.socket) -> None:
        time.sleep(2)
        with suppress(ConnectionResetError):
            while part := wire.recv(100_000):
                found.append(part)

    monkeypatch.setattr(connections, "_open_socket", with_room)
    with one_connection(reads_late) as host:
        settings.WEBHOOK_DEV_HOSTS = [host]
        one = delivery(f"http://{host}/", body=b"x" * 1_000_000)
        [answer] = send(one, rest_seconds=1.5)

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
        thread.join(10)


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
    run, steps, went_on_at = asyncio.Handle._run, itertools.count(), list[float]()
    with receiver() as theirs, pytest.MonkeyPatch.context() as patch:

        def stand_still(handle: Any) -> None:
            if next(steps) == at_step:
                patch.setattr(Moment, "age_seconds", 60.0)
                time.sleep(0.05)  # A delivery sent before has come by then.
                went_on_at.append(time.time())
            run(handle)

        patch.setattr(asyncio.Handle, "_run", stand_still)
        settings.WEBHOOK_DEV_HOSTS = [theirs.host]
        with suppress(TooLate):
            post(theirs.url, theirs.url)
    if not went_on_at:
        return None
    return sum(request.at > went_on_at[0] for request in theirs.requests)
