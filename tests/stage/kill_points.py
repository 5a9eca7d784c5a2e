"""The web process and the bank with wrappers in which a process dies: for tests.stage.mortal alone.

`KILL_ONCE` names a file that may hold the name of a boundary: the process that comes there
removes it and dies as by `kill -9`, whatever else it was doing.
"""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from config.wsgi import application as web

# isort: split
# Django is set up from here on.
from acquirers.in_doubt import answers
from core.rest import expansion
from merchants import idempotency
from payments.disputes import deliveries
from payments.intents import authorization, modifications, pages
from payments.refunds import asking
from testbank.wsgi import application as honest_bank
from tests.stage.mortal import BANK_WORKS_SECONDS, INSIDE

ASKS_THE_BANK = ((authorization, "authorize"), (modifications, "run"), (asking, "pursue"))
# At each of them a payment, a payer's return, a capture, a cancellation and a refund can die.
BOUNDARIES = {
    "after_the_first_transaction": ASKS_THE_BANK,
    "while_the_bank_works": ASKS_THE_BANK,
    "after_the_bank_answered": ((answers, "apply_with_retry"),),
    "before_the_answer": (
        (idempotency, "kept_answer"),
        (expansion, "expand"),
        (pages, "back_to_shop"),
    ),  # fmt: skip
    INSIDE: ((deliveries, "owe_evidence"), (deliveries, "owe_acceptance")),
}


def _is_deadly(boundary: str) -> bool:
    try:
        return Path(os.environ["KILL_ONCE"]).read_text() == boundary
    except FileNotFoundError:
        return False  # Somebody died already.


def _die() -> None:
    try:
        Path(os.environ["KILL_ONCE"]).unlink()
    except FileNotFoundError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def deadly(
    function: Callable[..., Any], boundary: str, *, then: str | None = None
) -> Callable[..., Any]:
    """Return the function with a boundary before it, or in it if the bank works there.

    :param then: the boundary behind it, if there is one.
    """

    def call(*arguments: Any, **options: Any) -> Any:
        if _is_deadly(boundary):
            if "while_the_bank_works" in boundary:
                dying = threading.Timer(BANK_WORKS_SECONDS / 2, _die)
                dying.start()
                try:
                    return function(*arguments, **options)
                finally:
                    dying.join()  # A bank that was quicker than that changes nothing.
            else:
                _die()
        done = function(*arguments, **options)
        if then and _is_deadly(then):
            _die()
        return done

    return call


def _prepared() -> Callable[..., Any]:
    for boundary, places in BOUNDARIES.items():
        for module, name in places:
            setattr(module, name, deadly(getattr(module, name), boundary))
    return web


def slow_bank(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """Take the order, think about it, and only then write it down."""
    if environ["REQUEST_METHOD"] == "POST":
        time.sleep(BANK_WORKS_SECONDS)
    return honest_bank(environ, start_response)


application = _prepared()
