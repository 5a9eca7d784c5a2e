"""Signing in: how long it takes alone, and what twenty people at once cost the API."""

import threading
from statistics import median

from bench.bars import Figures
from bench.client import ClientCall
from bench.load import LoadTerms, load
from bench.panel_person import BUSY, RIGHT, Person
from bench.stage import Stage
from devstack.console import say
from devstack.state import CannotContinue

AT_ONCE, ALONE = 20, 10


class Crowd:
    """People who sign in again and again, all at once, while the block runs.

    A person whom the page asks to come back does so, at the time it names.
    """

    def __init__(self, person: Person) -> None:
        self.statuses: list[int] = []
        self._person, self._is_over = person, threading.Event()
        self._threads = [threading.Thread(target=self._go_on) for _ in range(AT_ONCE)]

    def __enter__(self) -> "Crowd":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_problem: object) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join()

    def _go_on(self) -> None:
        while not self._is_over.is_set():
            answer = self._person.sign_in()
            self.statuses.append(answer.status)
            self._is_over.wait(answer.retry_after_seconds)


def measure(stage: Stage, told: dict[str, str], terms: LoadTerms) -> Figures:
    """Measure sign-ins of a merchant's owner, and the API alone and during twenty of them.

    :raises CannotContinue: a sign-in was neither right nor asked to come back.
    """
    call = ClientCall(stage.ports.web, "/v1/balance", {"object": "balance"}, told["secret_key"])
    with stage.service():
        person = Person(stage.ports.web, told)
        say("bench", f"{ALONE} sign-ins, one after the other; then {AT_ONCE} at once")
        alone = [person.sign_in() for _ in range(ALONE)]
        quiet = load(stage, call, terms).seen
        with Crowd(person) as crowd:
            beside = load(stage, call, terms).seen
    if {one.status for one in alone} != {RIGHT} or not {*crowd.statuses} <= {RIGHT, BUSY}:
        raise CannotContinue(f"Sign-ins were answered {alone} and {sorted({*crowd.statuses})}.")
    return {
        "sign_in_ms": median(one.ms for one in alone),
        "api_p99_ms": quiet.p99_ms,
        "api_beside_p99_ms": beside.p99_ms,
        "api_p99_times": beside.p99_ms / quiet.p99_ms,
        "signed_in": crowd.statuses.count(RIGHT),
        "told_to_come_back": crowd.statuses.count(BUSY),
    }
