"""An installation in real processes, whose web worker dies once: as by `kill -9`, at a boundary.

The web process and the bank are the same for all tests; of the two workers one dies in each test,
and gunicorn starts another in its place.
"""

import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import psutil
import pytest
import requests
from django.utils import timezone

from acquirers.conversation.kinds import KINDS
from core import clock
from tests.stage.client import REFUNDS, ApiClient
from tests.stage.factories import payment
from tests.stage.forks import Forks
from tests.stage.lengths import tried
from tests.stage.oldbank import way
from tests.stage.payment_pages import Shown
from tests.stage.threeds import return_of
from tests.stage.undecided import DECISIONS_BOUNDARIES
from tests.stage.web_process import WebProcess

# The names in tests.stage.kill_points, which only a web process may load: it asks the database.
BOUNDARIES = (
    "after_the_first_transaction",
    "while_the_bank_works",
    "after_the_bank_answered",
    "before_the_answer",
)
# A dispute is answered in one transaction; the bank hears of it from the sweeper.
INSIDE = "inside_the_transaction"
DISPUTES_BOUNDARIES = (INSIDE, "before_the_answer")
# A press on a payment page has boundaries of its own: within its first transaction and its last,
# and, where the form is shown again, between the sealed card and its held security code.
AS_THE_TRY_IS_COUNTED = "as_the_try_is_counted"
AS_THE_SESSION_ENDS = "as_the_session_ends"
AS_A_CARD_IS_HELD = "as_a_card_is_held"
PRESSES_BOUNDARIES = (
    AS_THE_TRY_IS_COUNTED, *BOUNDARIES[:3], AS_THE_SESSION_ENDS, BOUNDARIES[3],
)  # fmt: skip
LEASE_SECONDS = 2
# A hang is ended after this; alone a sweeper takes ten seconds from its start to its first row.
PATIENCE_SECONDS = 200
# A later due time belongs to no try at what a process left behind.
TRIES_END_AFTER = timedelta(minutes=10)
LONGEST_INQUIRY_WAIT = timedelta(days=1)
# The same in a Celery worker that runs the sweeper, at a row of any kind.
SWEEPERS_BOUNDARIES = (
    "sweeper: after_the_first_transaction",
    "sweeper: while_the_bank_works",
    "sweeper: after_the_bank_answered",
    "sweeper: after_the_last_transaction",
)
WORKER = ["worker", "-B", "-c", "1", "-Q", "default"]
SWEEPER = ["-q", "-A", "config", *WORKER]
# Its child may die as by `kill -9`; Celery starts another in its place.
DEADLY_SWEEPER = ["-q", "-A", "tests.stage.deadly_worker", *WORKER]

# Marks of every test of a kill: they take minutes together, and commit rows for processes to see.
PROOF_OF_KILLS = [
    pytest.mark.proof(part="kills"),
    pytest.mark.timeout(600),
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]

PAYMENTS, DISPUTES = "/v1/payment_intents", "/v1/disputes"

Call = Callable[[], requests.Response]


class House:
    """The bank, a web process of whose workers one dies when a boundary is named, and sweepers."""

    def __init__(self, directory: Path) -> None:
        self.once = directory / "once"
        lease = {"REQUEST_LEASE_SECONDS": str(LEASE_SECONDS), "KILL_ONCE": str(self.once)}
        lease["ACQUIRERS"] = f"{way.KIND}={way.ADAPTER}"
        slow_bank = "tests.stage.kill_points:slow_bank"
        self._bank = WebProcess(directory / "bank.log", slow_bank, WEB_THREADS="16", **lease)
        self.settings = {**lease, "TESTBANK_URL": self._bank.url}
        two = {**self.settings, "WEB_WORKERS": "2"}
        self.web = WebProcess(directory / "web.log", "tests.stage.kill_points", **two)
        self.sweepers = Forks(**self.settings)

    def stop(self) -> None:
        self.sweepers.stop()
        self.web.stop()
        self._bank.stop()


class Installation:
    """A web worker that dies once, the bank, and a sweeper when asked for."""

    # The bank takes the same reference sent twice for one order (see `tests.stage.both_banks`).
    repeats = True
    refunds_on_the_day = True

    def __init__(self, house: House, directory: Path) -> None:
        self.once, self.settings = house.once, house.settings
        self._web, self._sweepers, self._directory = house.web, house.sweepers, directory
        self._sweeper: psutil.Process | None = None

    def start(self, boundary: str) -> None:
        known = (
            *BOUNDARIES, *PRESSES_BOUNDARIES, AS_A_CARD_IS_HELD, *DISPUTES_BOUNDARIES,
            *SWEEPERS_BOUNDARIES, *DECISIONS_BOUNDARIES,
        )  # fmt: skip
        assert boundary in known
        self.once.write_text(boundary)
        tried(1, "processes that die")

    def start_sweeper(self, *, is_deadly: bool = False) -> None:
        schedule = ["-s", str(self._directory / "schedule"), "--pidfile="]
        log, command = self._directory / "sweeper.log", DEADLY_SWEEPER if is_deadly else SWEEPER
        self._sweeper = self._sweepers.worker(log, *command, *schedule)

    def stop(self) -> None:
        self.once.unlink(missing_ok=True)
        if self._sweeper:
            self._sweepers.end(self._sweeper)

    def pay(self, client: ApiClient, *card: str, **changes: Any) -> requests.Response:
        return self._post(client, PAYMENTS, payment(*card, **changes))

    def ask(self, client: ApiClient, payment_id: str, action: str) -> requests.Response:
        """Ask for a capture or a cancellation, always with the same idempotency key."""
        return self._post(client, f"{PAYMENTS}/{payment_id}/{action}", {})

    def refund(
        self, client: ApiClient, payment_id: str, amount: int | None = None
    ) -> requests.Response:
        """Ask for a refund, always with the same idempotency key."""
        part = {} if amount is None else {"amount": amount}
        return self._post(client, REFUNDS, {"payment_intent": payment_id, **part})

    def answer(
        self, client: ApiClient, dispute_id: str, door: str, body: dict[str, Any]
    ) -> requests.Response:
        """Answer a dispute, always with the same idempotency key.

        :param door: behind the dispute's path: none for evidence, `/close`.
        """
        return self._post(client, f"{DISPUTES}/{dispute_id}{door}", body)

    def press(self, form: Shown, **typed: str) -> requests.Response:
        """Press a form of a payment page, and stay where the answer is."""
        url = f"{self._web.url}{form.action}"
        return requests.post(
            url, form.filled(**typed), allow_redirects=False, timeout=PATIENCE_SECONDS
        )

    def bring(self, fields: dict[str, str]) -> requests.Response:
        """Bring the bank's answer, as the payer's browser does."""
        url = f"{self._web.url}{return_of(fields)}"
        return requests.post(url, fields, allow_redirects=False, timeout=PATIENCE_SECONDS)

    def dies_during(self, call: Call) -> None:
        with pytest.raises(requests.ConnectionError):
            call()
        assert not self.once.exists(), "nobody died"

    def _post(self, client: ApiClient, path: str, body: dict[str, Any]) -> requests.Response:
        url = f"{self._web.url}{path}"
        headers = {"Authorization": f"Bearer {client.key}", "Idempotency-Key": "order 7"}
        return requests.post(url, json=body, headers=headers, timeout=PATIENCE_SECONDS)


def retried(call: Call) -> requests.Response:
    """Call again until the dead request keeps nobody waiting any more."""
    answers: list[requests.Response] = []
    until(lambda: answers.append(call()) or answers[-1].status_code != 409)
    return answers[-1]


def until(condition: Any, seconds: float = PATIENCE_SECONDS) -> None:
    """Wait for something to become true."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def until_swept(condition: Callable[[], bool], *, waits: timedelta = TRIES_END_AFTER) -> None:
    """Wait for what the sweeper brings about, over as many of its tries as that takes.

    The clock goes on to the next try when none is due and none under way.

    :param waits: the longest wait between two tries.
    """

    def is_so() -> bool:
        if condition():
            return True
        wait = _wait_for_the_next_try(waits)
        # It may have come about since: what is over may be due once more, after the bank's day.
        if wait and not condition():
            clock.advance(wait)
        return False

    until(is_so)


def until_believed(condition: Callable[[], bool]) -> None:
    """Wait for the end that a bank's "no record" brings about once it is believed.

    An inquiry may bring no answer, on a busy machine above all: then the next one is waited for.
    """
    until_swept(condition, waits=LONGEST_INQUIRY_WAIT)


def _wait_for_the_next_try(longest: timedelta) -> timedelta | None:
    """Return how far the clock is from it; None while one is due, under way or a long way off."""
    rows = [
        row for kind in KINDS.values() for row in kind.model.objects.filter(due_at__isnull=False)
    ]
    if not rows or any(row.lease_until and row.lease_until > timezone.now() for row in rows):
        return None
    wait = min(row.due_at for row in rows) - clock.now()
    return wait if timedelta() < wait <= longest else None
