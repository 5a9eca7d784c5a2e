"""More requests than threads: some wait, some are refused, readers and health checks are served."""

import json
import re
import resource
import select
import socket
import struct
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from core.context import REQUEST_BUDGET_SECONDS
from core.keyring import ring
from merchants.models import IdempotencyKey, RequestLog
from payments.customers.models import Customer
from tests.stage.client import ApiClient
from tests.stage.web_process import PATIENCE_SECONDS, RawAnswer, WebProcess, request, whole

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]

THREADS = 4  # Three for whatever comes, and one for reads.
PATIENT = {"WEB_QUEUE_SECONDS": "1000"}
# Long enough for a busy machine to hold the threads in, where none shall be refused.
AGE_SECONDS = 1.0
HASTY = {"WEB_QUEUE_SECONDS": str(AGE_SECONDS)}
HOST = b"Host: 127.0.0.1\r\n"
HEALTH = b"GET /livez HTTP/1.1\r\n" + HOST + b"\r\n"
NOTHING_WRITTEN = (0, 0)
BURSTS, BURST = 6, 40


class House:
    """A web process whose threads can be held; `lines` are the connections to it."""

    def __init__(self, web: WebProcess, acme: ApiClient, directory: Path) -> None:
        self.web = web
        self.web.acme = acme
        self.key_turn = directory / "go"
        self.lines: list[socket.socket] = []
        self._said_before = len(web.log)

    def send(self, sent: bytes) -> socket.socket:
        line = self.web.connect()
        self.lines.append(line)
        line.sendall(sent)
        return line

    def post(self, path: str) -> socket.socket:
        return self.send(post(path))

    def hold(self, count: int, *, method: bytes = b"POST", path: bytes = b"/hold") -> None:
        """Hold so many threads, one after the other: each has one when this returns."""
        before = self.said("held")
        target = path + b"?until=" + str(self.key_turn).encode()
        for number in range(1, count + 1):
            self.send(method + b" " + target + b" HTTP/1.1\r\n" + HOST + b"\r\n")
            self.await_lines("held", before + number)

    def hold_all_but_reads(self) -> None:
        self.hold(THREADS - 1)

    def let_go(self) -> None:
        self.key_turn.touch()

    def await_queued(self) -> None:
        """Return when all that was sent before is in the queue: the loop takes all in turn."""
        assert self.web.is_alive()

    def await_too_old(self) -> None:
        """Return when all that was sent before is in the queue for longer than it may wait."""
        self.await_queued()
        too_old_at = time.monotonic() + AGE_SECONDS
        while (left := too_old_at - time.monotonic()) > 0:
            time.sleep(left)

    def said(self, event: str) -> int:
        return len(re.findall(rf'"event": ?"{event}"', self._log()))

    def await_lines(self, event: str, count: int) -> None:
        self._await(lambda: self.said(event) >= count)

    def await_answered(self, path: str) -> None:
        self._await(lambda: f'"path":"{path}"' in self._log().replace(" ", ""))

    def clear(self) -> None:
        """Let everybody go, so that the next test finds every thread free."""
        self.let_go()
        ended = re.compile(r'"path":"/(?:hold|look|much|stream)"')
        self._await(lambda: len(ended.findall(self._log())) >= self.said("held"))
        for line in self.lines:
            line.close()

    def _log(self) -> str:
        return self.web.log[self._said_before :].replace('": ', '":')

    def _await(self, is_so: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not is_so():
            assert time.monotonic() < deadline, self._log()
            time.sleep(0.01)


def post(path: str, body: bytes = b"") -> bytes:
    head = f"POST {path} HTTP/1.1\r\nContent-Length: {len(body)}\r\n".encode()
    return head + HOST + b"\r\n" + body


def customer(house: House) -> bytes:
    keyed = request(house.web, b"Content-Length: 2", b"Idempotency-Key: one")
    return keyed + b"{}"


def written() -> tuple[int, int]:
    return Customer.objects.count(), IdempotencyKey.objects.count()


@contextmanager
def running(directory: Path, **settings: str) -> Iterator[WebProcess]:
    ring()
    settings |= {"WEB_THREADS": str(THREADS), "DJANGO_SETTINGS_MODULE": "tests.stage.held_settings"}
    web = WebProcess(directory / "log", **settings)
    try:
        yield web
    finally:
        web.stop()


@pytest.fixture(scope="module")
def patient_web(django_db_setup: None, tmp_path_factory: Any) -> Iterator[WebProcess]:
    with running(tmp_path_factory.mktemp("patient"), **PATIENT) as web:
        yield web


@pytest.fixture(scope="module")
def hasty_web(django_db_setup: None, tmp_path_factory: Any) -> Iterator[WebProcess]:
    with running(tmp_path_factory.mktemp("hasty"), **HASTY) as web:
        yield web


@pytest.fixture
def patient(patient_web: WebProcess, acme: ApiClient, tmp_path: Path) -> Iterator[House]:
    house = House(patient_web, acme, tmp_path)
    yield house
    house.clear()


@pytest.fixture
def hasty(hasty_web: WebProcess, acme: ApiClient, tmp_path: Path) -> Iterator[House]:
    house = House(hasty_web, acme, tmp_path)
    yield house
    house.clear()


# --- Too late ---------------------------------------------------------------------------------


def test_a_request_that_waited_too_long_is_refused_and_leaves_nothing(hasty: House) -> None:
    hasty.hold_all_but_reads()
    line = hasty.send(customer(hasty))
    hasty.await_too_old()
    hasty.let_go()

    answer = RawAnswer.read(line)

    assert (answer.status, answer.error["code"]) == (503, "overloaded")
    assert answer.error["type"] == "api_error"
    assert answer.headers["Retry-After"] == "1"
    assert answer.headers["Request-Id"] == answer.error["request_id"]
    assert written() == NOTHING_WRITTEN
    assert not RequestLog.objects.exists()


def test_the_same_key_is_free_afterwards(hasty: House) -> None:
    hasty.hold_all_but_reads()
    line = hasty.send(customer(hasty))
    hasty.await_too_old()
    hasty.let_go()
    with line.makefile("rb") as answers:
        assert RawAnswer.next(answers).status == 503

        status: int | None = 503
        while status == 503:  # A busy machine may let it wait for too long again.
            status = next_status(hasty, line, answers)

        assert status == 200
    assert Customer.objects.count() == 1


def next_status(house: House, line: socket.socket, answers: Any) -> int | None:
    line.sendall(customer(house))
    return RawAnswer.next(answers).status


def test_a_kept_connection_waits_from_its_request_on(patient: House) -> None:
    line = patient.post("/budget")
    assert RawAnswer.read(line).status == 200
    patient.await_too_old()  # As the connection would be, if it were counted from there.

    assert_its_budget_begins_now(line)


def test_a_connection_waits_from_its_request_on(patient: House) -> None:
    line = patient.send(b"")
    patient.await_too_old()

    assert_its_budget_begins_now(line)


def assert_its_budget_begins_now(line: socket.socket) -> None:
    """A request's age is no more than what its client has waited for it."""
    sent_at = time.monotonic()
    line.sendall(post("/budget"))

    answer = RawAnswer.read(line)

    age_seconds = REQUEST_BUDGET_SECONDS - json.loads(answer.content)["seconds"]
    assert age_seconds <= time.monotonic() - sent_at


def test_a_person_is_told_in_words(hasty: House) -> None:
    hasty.hold_all_but_reads()
    line = hasty.send(b"POST /account/login HTTP/1.1\r\nAccept: text/html\r\n" + HOST + b"\r\n")
    hasty.await_too_old()
    hasty.let_go()

    answer = RawAnswer.read(line)

    assert (answer.status, answer.headers["Retry-After"]) == (503, "1")
    assert answer.content.startswith(b"<!doctype html>")


def test_the_time_budget_begins_when_the_request_arrives(patient: House) -> None:
    patient.hold_all_but_reads()
    line = patient.post("/budget")
    patient.await_too_old()
    patient.let_go()

    answer = RawAnswer.read(line)

    assert 0 < json.loads(answer.content)["seconds"] <= REQUEST_BUDGET_SECONDS - AGE_SECONDS


# --- Gone -------------------------------------------------------------------------------------


def reset(line: socket.socket) -> None:
    """End a connection as a client does that is killed or has data left to read."""
    line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    line.close()


@pytest.mark.parametrize("leave", [socket.socket.close, reset], ids=["closed", "reset"])
def test_nothing_begins_for_a_client_that_hung_up(patient: House, leave: Any) -> None:
    patient.hold_all_but_reads()
    line = patient.send(customer(patient))
    patient.await_queued()
    leave(line)
    patient.let_go()

    patient.await_answered("/v1/customers")

    assert written() == NOTHING_WRITTEN


def test_one_that_asked_for_more_and_hung_up_is_gone_too(patient: House) -> None:
    patient.hold_all_but_reads()
    # More than is read with the first request: its end lies behind bytes that nobody has taken.
    line = patient.send(customer(patient) + HEALTH * 1000)
    patient.await_queued()
    line.close()
    patient.let_go()

    patient.await_answered("/v1/customers")

    assert written() == NOTHING_WRITTEN


def test_a_client_that_only_ended_its_own_side_is_answered(patient: House) -> None:
    patient.hold_all_but_reads()
    line = patient.send(customer(patient))
    line.shutdown(socket.SHUT_WR)
    patient.await_queued()
    patient.let_go()

    answer = RawAnswer.read(line)

    assert answer.status == 200
    assert Customer.objects.count() == 1


def test_an_old_client_that_ended_its_own_side_is_gone(patient: House) -> None:
    patient.hold_all_but_reads()
    line = patient.send(customer(patient).replace(b"HTTP/1.1", b"HTTP/1.0"))
    line.shutdown(socket.SHUT_WR)
    patient.await_queued()
    patient.let_go()

    assert RawAnswer.read(line).status == 503
    assert written() == NOTHING_WRITTEN


def test_a_client_that_leaves_while_it_is_served_is_found_at_the_next_look(patient: House) -> None:
    patient.hold(1, path=b"/look")
    [line] = patient.lines
    line.close()
    patient.let_go()
    patient.await_answered("/look")

    assert patient.said("went_on") == 0


# --- Served beside a full queue ---------------------------------------------------------------


def test_the_health_check_is_answered_while_every_thread_is_held(hasty: House) -> None:
    hasty.hold_all_but_reads()
    hasty.hold(1, method=b"GET")
    waiting = [hasty.send(customer(hasty)) for _ in range(10)]
    kept = hasty.send(HEALTH)

    assert RawAnswer.read(kept).status == 200
    with hasty.send(HEALTH.replace(b"GET", b"HEAD")).makefile("rb") as head:
        assert head.readline().startswith(b"HTTP/1.1 200")
    assert hasty.web.send(b"GET /livez?deep=1 HTTP/1.0\r\n\r\n").status == 200
    assert len(waiting) == 10


def test_a_health_check_is_never_too_late(hasty: House) -> None:
    hasty.hold_all_but_reads()
    hasty.hold(1, method=b"GET")
    # With a body it waits with all others.
    line = hasty.send(HEALTH.replace(b"\r\n\r\n", b"\r\nContent-Length: 0\r\n\r\n"))
    hasty.await_too_old()
    hasty.let_go()

    assert RawAnswer.read(line).status == 200


@pytest.mark.parametrize(
    "half",
    [HEALTH[:-2], HEALTH.replace(b"\r\n\r\n", b"\r\nContent-Length: 5\r\n\r\n12")],
    ids=["head", "body"],
)
def test_half_a_health_check_holds_up_no_other(patient: House, half: bytes) -> None:
    for _ in range(2):
        patient.send(half)

    assert patient.web.is_alive()


def test_reads_find_a_thread_while_payments_hold_the_others(patient: House) -> None:
    patient.hold_all_but_reads()
    waiting = [patient.send(whole(patient.web, b"{}")) for _ in range(10)]
    read = request(patient.web, method=b"GET").replace(b"/v1/customers", b"/v1/balance")

    assert patient.web.send(read).status == 200
    assert written()[0] == 0
    patient.let_go()
    assert RawAnswer.read(waiting[0]).status == 200


def test_half_a_read_does_not_take_the_readers_thread(patient: House) -> None:
    patient.hold_all_but_reads()
    read = request(patient.web, method=b"GET").replace(b"/v1/customers", b"/v1/balance")
    for _ in range(3):
        patient.send(read[:40])

    assert patient.web.send(read).status == 200


def test_while_threads_are_free_every_one_of_them_reads(patient: House) -> None:
    patient.hold(THREADS, method=b"GET")

    assert patient.said("held") == THREADS


def test_connections_that_say_nothing_hold_no_thread(patient: House) -> None:
    silent = [patient.send(b"") for _ in range(40)]

    assert patient.web.is_alive()
    assert RawAnswer.read(patient.send(whole(patient.web, b"{}"))).status == 200
    assert len(silent) == 40


@pytest.mark.parametrize("path", ["/much", "/much?streamed"])
def test_clients_that_do_not_take_their_answer_are_let_go(
    path: str, tmp_path: Path, acme: ApiClient
) -> None:
    with running(tmp_path, **PATIENT, WEB_SEND_SECONDS="1") as web:
        house = House(web, acme, tmp_path)
        for _ in range(THREADS - 1):
            house.post(path)
        house.await_lines("held", THREADS - 1)

        assert RawAnswer.read(house.send(whole(web, b"{}"))).status == 200
        house.clear()


@pytest.mark.dear("three seconds are over before the stream is")
def test_a_stream_lasts_for_as_long_as_its_client_takes_it(tmp_path: Path, acme: ApiClient) -> None:
    with running(tmp_path, **PATIENT, WEB_SEND_SECONDS="3") as web, ThreadPoolExecutor(1) as client:
        house = House(web, acme, tmp_path)
        house.hold(1, path=b"/stream")
        streamed = client.submit(RawAnswer.read, house.lines[0])
        for _ in range(THREADS - 2):
            house.post("/much")
        house.await_lines("held", THREADS - 1)
        # It finds a thread when the time of those who take nothing is over, and the stream's was.
        assert RawAnswer.read(house.send(whole(web, b"{}"))).status == 200

        house.clear()

        assert streamed.result().content.endswith(b"end")


def test_a_health_check_ends_its_connection(patient: House) -> None:
    with patient.send(HEALTH * 2).makefile("rb") as answers:
        assert RawAnswer.next(answers).headers["Connection"] == "close"
        assert answers.read() == b""


def test_a_client_that_does_not_hang_up_after_its_answer_holds_nobody_up(patient: House) -> None:
    line = patient.send(post("/budget").replace(HOST, HOST + b"Connection: close\r\n"))
    assert RawAnswer.read(line).status == 200  # Until here the server has ended its side only.

    assert patient.web.is_alive()

    line.sendall(b"still here")
    assert line.recv(1) == b""
    line.sendall(b"and here")  # Refused, had it been waited for.


def test_who_goes_on_sending_after_the_last_answer_is_cut_off(patient: House) -> None:
    line = patient.send(b"garbage\r\n\r\n")
    assert RawAnswer.read(line).status == 400

    with pytest.raises(OSError, match=r"reset|Broken pipe"):
        line.sendall(b"x" * 50_000_000)


def test_the_connection_of_one_who_stays_silent_after_the_last_answer_ends(patient: House) -> None:
    line = patient.send(b"garbage\r\n\r\n")
    with line.makefile("rb") as answers:
        assert RawAnswer.next(answers).status == 400
        assert answers.read() == b""  # The server has ended its side.

    is_reset = select.poll()
    is_reset.register(line, 0)
    line.sendall(b"?")  # Answered with a reset, if nobody listens any more.
    while not is_reset.poll(100):
        line.sendall(b"?")


def test_more_connections_than_files_kill_nobody(tmp_path: Path) -> None:
    with running(tmp_path) as web:
        worker = int(web.wait_for(r"Booting worker with pid: (\d+)"))
        assert web.is_alive()
        used = len(list(Path(f"/proc/{worker}/fd").iterdir()))
        resource.prlimit(worker, resource.RLIMIT_NOFILE, (used + 10, used + 10))
        crowd = [web.connect() for _ in range(50)]
        crowd[0].sendall(HEALTH)
        assert RawAnswer.read(crowd[0]).status == 200
        for line in crowd:
            line.close()

        assert web.is_alive()
        assert len(re.findall("Booting worker", web.log)) == 1


def test_connections_that_say_nothing_do_not_hold_up_the_end(tmp_path: Path) -> None:
    with running(tmp_path) as web, web.connect():
        assert web.is_alive()

        web.stop()


def test_connections_spread_over_the_processes(tmp_path: Path) -> None:
    with running(tmp_path, WEB_WORKERS="2") as web:
        web.wait_for(r"(?s)Booting.*(Booting worker)")
        smaller = [smaller_part(web) for _burst in range(BURSTS)]

    print(f"one of two processes has of {BURST} connections: {smaller}")  # noqa: T201
    # If none let the other go first, one takes nine of ten before the other wakes up.
    assert sum(smaller) > BURSTS * BURST / 3


def smaller_part(web: WebProcess) -> int:
    """Open connections all at once; return how many the process has that has fewer of them."""
    lines = [web.connect() for _ in range(BURST)]
    for line in lines:
        line.sendall(b"GET /process HTTP/1.1\r\n" + HOST + b"\r\n")
    served = Counter(json.loads(RawAnswer.read(line).content)["pid"] for line in lines)
    for line in lines:
        line.close()
    return BURST - max(served.values())
