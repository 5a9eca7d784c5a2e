"""A form that is sent again while its first sending is under way, in a thread of its own."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event, local
from typing import Any

import pytest
from django.db import connections
from django.test import Client

from panel import once

PATIENCE_SECONDS = 20


class Held:
    """A first sending that is held where its change is made, until `end`.

    :param future: its answer.
    """

    def __init__(self) -> None:
        self.is_held, self.may_go_on = Event(), Event()
        self.future: Future[Any] = Future()

    def hold(self) -> None:
        self.is_held.set()
        assert self.may_go_on.wait(PATIENCE_SECONDS)

    def end(self) -> Any:
        self.may_go_on.set()
        return self.future.result(PATIENCE_SECONDS)


@contextmanager
def held_after(
    monkeypatch: pytest.MonkeyPatch, send: Callable[[], Any], *, is_made: bool
) -> Iterator[Held]:
    """Hold a sending before its change is made, or between that and its answer."""
    held, make, thread = Held(), once._made, local()

    def made(change: Any) -> Any:
        if not getattr(thread, "is_first", False):
            return make(change)
        if not is_made:
            held.hold()
        found = make(change)
        if is_made:
            held.hold()
        return found

    def first() -> Any:
        thread.is_first = True
        return sent(send)

    monkeypatch.setattr(once, "_made", made)
    with ThreadPoolExecutor(1) as pool:
        held.future = pool.submit(first)
        try:
            assert held.is_held.wait(PATIENCE_SECONDS)
            yield held
        finally:
            held.may_go_on.set()


def sent(send: Callable[[], Any]) -> Any:
    """Send in the thread at hand, and leave no connection behind."""
    try:
        return send()
    finally:
        connections.close_all()


def while_it_waits(monkeypatch: pytest.MonkeyPatch, happen: Callable[[], Any]) -> list[int]:
    """Let something happen in the first moment in which a sending waits for another one.

    Return the moments in which one waited, as they come.
    """
    waits: list[int] = []

    def wait(_seconds: float) -> None:
        waits.append(len(waits))
        if len(waits) == 1:
            happen()

    monkeypatch.setattr(once, "sleep", wait)
    return waits


def tab_of(browser: Client) -> Client:
    """Return another tab of a browser."""
    tab = Client(headers={"Accept": "text/html"})
    tab.cookies.update(browser.cookies)
    return tab
