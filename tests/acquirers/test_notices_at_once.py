"""Pollers that meet, and pollers that die: each notice is applied once, in its order."""

from collections import Counter
from collections.abc import Iterator

import pytest
from django.db import connections, transaction
from django.utils import timezone

from acquirers.models import Terminal
from acquirers.notices import applying, storing
from acquirers.notices.models import Inbox, Notice
from ledger.models import Movement
from payments.disputes.models import Dispute
from payments.intents.models import PaymentIntent
from tests.stage import listeners
from tests.stage.audited import assert_our_own_books_agree
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.lengths import length, one_of_all, tried
from tests.stage.listeners import KIND
from tests.stage.notifier import Notifier, another_dispute, take_in
from tests.stage.processes import run
from tests.stage.threads import team, together

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])

POLLERS = 4
BOUNDARIES = ("with a notice in its hands", "between applying a notice and going on")


@pytest.fixture(autouse=True)
def _somebody_listens(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(applying.HANDLERS, KIND, listeners.listen)
    listeners.heard.clear()
    yield
    listeners.hated.clear()


@pytest.fixture
def paid(acme: ApiClient, bank: BankTransport) -> str:
    return acme.pay()["id"]


def poll() -> None:
    """Poll as a process of its own does: nobody holds the inbox against it."""
    Inbox.objects.update(held_until=None)
    take_in()


def test_pollers_that_meet_apply_each_notice_once_and_in_order(
    notifier: Notifier, paid: str
) -> None:
    objects = [another_dispute() for _ in range(4)]
    rounds = length(short=3, full=30)
    with team(POLLERS) as meet:
        for _ in range(rounds):
            for dispute in objects * 3:
                notifier.tell(KIND, paid, dispute=dispute)
            meet([poll] * POLLERS)
            poll()  # A notice that another poller had in its hands may be left to the next run.
    count = Counter(listeners.heard)

    assert set(count.values()) == {1}
    assert len(count) == rounds * 12
    for dispute in objects:
        own = [one.number for one in notifier.told if one.dispute == dispute]
        assert [number for number in listeners.heard if number in own] == own
    tried(len(count), "notices for four pollers")


def test_a_dispute_that_all_pollers_are_told_of_is_opened_once(
    notifier: Notifier, paid: str
) -> None:
    for _ in range(3):
        notifier.tell("dispute_opened", paid)

    together([poll] * POLLERS)
    poll()

    assert Dispute.objects.count() == 1
    assert Movement.objects.filter(kind="dispute_opened").count() == 1
    assert PaymentIntent.objects.get().disputed_minor == 12500
    assert Notice.objects.filter(applied_at=None).count() == 0


def test_a_page_that_pollers_store_at_once_is_stored_once(notifier: Notifier, paid: str) -> None:
    told = [notifier.tell(KIND, paid) for _ in range(50)]
    terminal = Terminal.objects.get()

    together([lambda: storing.store(terminal, told)] * POLLERS)

    assert Notice.objects.count() == 50


def test_a_payment_that_is_locked_keeps_no_other_waiting(
    notifier: Notifier, acme: ApiClient, paid: str
) -> None:
    other = acme.pay()["id"]
    notifier.tell("dispute_opened", paid)
    notifier.tell("dispute_opened", other, dispute=another_dispute())

    with transaction.atomic():
        PaymentIntent.objects.lock(paid)
        together([poll, lambda: None])

    assert [row.intent_id for row in Dispute.objects.all()] == [other]
    assert Notice.objects.get(applied_at=None).last_error == "OperationalError"


def test_a_failure_that_is_counted_late_does_not_undo_an_application(
    notifier: Notifier, paid: str
) -> None:
    notifier.tell(KIND, paid)
    take_in()
    row = Notice.objects.get()

    applying.NOTICES.count_failure(row.id, RuntimeError())

    row.refresh_from_db()
    assert (row.tries, row.last_error, row.next_try_at) == (1, None, None)


@pytest.mark.proof(part="kills")
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("boundary", "number"), one_of_all(BOUNDARIES, [1, 2, 3], short=(BOUNDARIES[1], 2))
)
def test_after_a_kill_of_the_poller_each_notice_is_applied_once(
    boundary: str, number: int, notifier: Notifier, acme: ApiClient, paid: str
) -> None:
    other = acme.pay()["id"]
    notifier.tell("dispute_opened", paid)
    notifier.tell("dispute_opened", other, dispute=another_dispute())
    notifier.tell("dispute_lost", paid)
    storing.store(Terminal.objects.get(), notifier.told)
    held = {"DIES": boundary, "DIES_AT": str(number)}

    status, said = run("-m", "tests.stage.deadly_poller", **held)
    assert status == -9, said
    tried(1, "pollers that die")
    Inbox.objects.update(held_until=timezone.now())
    status, said = run("-m", "tests.stage.deadly_poller", DIES="nowhere", DIES_AT="0")

    assert status == 0, said
    assert Notice.objects.filter(applied_at=None).count() == 0
    assert sorted(Dispute.objects.values_list("status", flat=True)) == ["lost", "needs_response"]
    kinds = Counter(Movement.objects.exclude(kind="charge").values_list("kind", flat=True))
    assert kinds == {"dispute_opened": 2, "dispute_lost": 1}
    assert_told_once(acme)
    connections.close_all()
    assert_our_own_books_agree()


def assert_told_once(acme: ApiClient) -> None:
    for dispute in Dispute.objects.all():
        told = [event["type"] for event in acme.events_of(dispute.id)]
        closed = ["dispute.closed"] if dispute.status == "lost" else []
        assert told == ["dispute.created", *closed]
