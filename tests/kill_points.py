"""The web process and the bank with wrappers in which a process dies: for tests.mortal alone.

`KILL_AT` names the boundary and `KILL_ONCE` a file: the process that finds it removes
it and dies as by `kill -9`, whatever else it was doing.
"""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from config.wsgi import application as web
from core.rest import expansion
from payments import authorization, operations, pages, settlement
from testbank.wsgi import application as honest_bank

BANK_WORKS_SECONDS = 0.6
ASKS_THE_BANK = ((authorization, "authorize"), (operations, "run"))
# At each of them a payment, a payer's return, a capture and a cancellation can die.
BOUNDARIES = {
    "after_the_first_transaction": ASKS_THE_BANK,
    "while_the_bank_works": ASKS_THE_BANK,
    "after_the_bank_answered": ((settlement, "surely"),),
    "before_the_answer": ((expansion, "expand"), (pages, "back_to_shop")),
}


def _die() -> None:
    try:
        Path(os.environ["KILL_ONCE"]).unlink()
    except FileNotFoundError:
        return  # Somebody died already.
    os.kill(os.getpid(), signal.SIGKILL)


def _deadly(function: Callable[..., Any], wait_seconds: float) -> Callable[..., Any]:
    def call(*arguments: Any, **options: Any) -> Any:
        if wait_seconds:
            threading.Timer(wait_seconds, _die).start()
        else:
            _die()
        return function(*arguments, **options)

    return call


def _prepared() -> Callable[..., Any]:
    boundary = os.environ.get("KILL_AT")
    wait_seconds = BANK_WORKS_SECONDS / 2 if boundary == "while_the_bank_works" else 0
    for module, name in BOUNDARIES[boundary] if boundary else ():
        setattr(module, name, _deadly(getattr(module, name), wait_seconds))
    return web


def slow_bank(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """Take the order, think about it, and only then write it down."""
    if environ["REQUEST_METHOD"] == "POST":
        time.sleep(BANK_WORKS_SECONDS)
    return honest_bank(environ, start_response)


application = _prepared()
