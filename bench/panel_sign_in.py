"""Signing in: how long it takes alone, and what twenty people at once cost the API."""

import http.client
import re
import threading
import time
from ipaddress import ip_address
from itertools import count
from statistics import median
from urllib.parse import urlencode

from bench.bars import Figures
from bench.client import Call
from bench.load import Terms, load
from bench.stage import Stage
from devstack.console import say
from devstack.state import CannotContinue

PATH = "/account/login"
AT_ONCE, ALONE = 20, 10
RIGHT, BUSY = 302, 503
PATIENCE_SECONDS = 60
# Each sign-in comes from a loopback address of its own: the limit per address is not measured.
ADDRESSES = count(2)
TOKEN = re.compile(rb'csrfmiddlewaretoken" value="(\w+)"')
COOKIE = re.compile(r"csrftoken=(\w+)")


class Person:
    """Somebody with a browser and a right password.

    :param port: of the web process.
    """

    def __init__(self, port: int, told: dict[str, str]) -> None:
        self._port, self._told = port, told
        self._host = f"localhost:{port}"

    def sign_in(self) -> tuple[int, float]:
        """Load the form and send it; return the answer's status, and how many ms it took."""
        line = http.client.HTTPConnection(
            "127.0.0.1", self._port, timeout=PATIENCE_SECONDS, source_address=(_next_address(), 0)
        )
        try:
            token, cookie = self._form(line)
            typed = {"login": self._told["panel_email"], "password": self._told["panel_password"]}
            body = urlencode({**typed, "csrfmiddlewaretoken": token})
            headers = {"Content-Type": "application/x-www-form-urlencoded"}
            began = time.perf_counter()
            line.request("POST", PATH, body, self._named(headers | {"Cookie": cookie}))
            answer = line.getresponse()
            answer.read()
            return answer.status, (time.perf_counter() - began) * 1000
        finally:
            line.close()

    def _form(self, line: http.client.HTTPConnection) -> tuple[str, str]:
        line.request("GET", PATH, headers=self._named({}))
        answer = line.getresponse()
        token, cookie = TOKEN.search(answer.read()), answer.getheader("Set-Cookie") or ""
        kept = COOKIE.search(cookie)
        if not token or not kept:
            raise CannotContinue(f"{PATH} answered {answer.status} without a form.")
        return token[1].decode(), f"csrftoken={kept[1]}"

    def _named(self, headers: dict[str, str]) -> dict[str, str]:
        return {"Host": self._host, "Accept": "text/html", **headers}


class Crowd:
    """People who sign in again and again, all at once, while the block runs."""

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
            self.statuses.append(self._person.sign_in()[0])


def _next_address() -> str:
    """Return another address of this machine, of 16 million."""
    return str(ip_address("127.0.0.0") + next(ADDRESSES))


def measure(stage: Stage, told: dict[str, str], terms: Terms) -> Figures:
    """Measure sign-ins of a merchant's owner, and the API alone and beside twenty of them.

    :raises CannotContinue: a sign-in was neither right nor told to come back.
    """
    call = Call(stage.ports.web, "/v1/balance", {"object": "balance"}, told["secret_key"])
    with stage.service():
        person = Person(stage.ports.web, told)
        say("bench", f"{ALONE} sign-ins, one after the other; then {AT_ONCE} at once")
        alone = [person.sign_in() for _ in range(ALONE)]
        quiet = load(stage, call, terms).seen
        with Crowd(person) as crowd:
            beside = load(stage, call, terms).seen
    if {status for status, _ms in alone} != {RIGHT} or not {*crowd.statuses} <= {RIGHT, BUSY}:
        raise CannotContinue(f"Sign-ins were answered {alone} and {sorted({*crowd.statuses})}.")
    return {
        "sign_in_ms": median(ms for _status, ms in alone),
        "api_p99_ms": quiet.p99_ms,
        "api_beside_p99_ms": beside.p99_ms,
        "api_p99_times": beside.p99_ms / quiet.p99_ms,
        "signed_in": crowd.statuses.count(RIGHT),
        "told_to_come_back": crowd.statuses.count(BUSY),
    }
