"""Looks of settlement are killed at each commit, beside each other and beside an open charge."""

from datetime import timedelta

import pytest
from django.db.models import Count, Sum

from audit import balances, settlements
from core import clock
from events.models import Event
from ledger import agenda
from ledger.models import Due, LedgerEntry, Movement, Run
from ledger.tasks import settle_due
from tests.stage.book_keeping import Till
from tests.stage.factories import MerchantFactory
from tests.stage.held_transactions import held_open
from tests.stage.lengths import length, tried
from tests.stage.processes import run

pytestmark = [
    pytest.mark.proof(part="ledger"),
    pytest.mark.timeout(1800),
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]

MERCHANTS = length(short=12, full=1000)
PATIENCE_SECONDS = 1500


@pytest.fixture
def tills() -> list[Till]:
    """Merchants with charges that are due by now, one of them in parts, and with a refund."""
    tills = [Till(MerchantFactory()) for _ in range(MERCHANTS)]
    for till in tills:
        till.charge(10001, parts=3)
        till.refund(till.charge(7000), 500)
    return tills


def kill_looks() -> int:
    """Let looks be killed until nothing is due; return how many were."""
    status, said = run("-m", "tests.stage.deadly_settlement", patience_seconds=PATIENCE_SECONDS)
    assert status == 0, said
    return int(said.split()[0])


def test_every_part_is_settled_once_however_often_looks_are_killed(tills: list[Till]) -> None:
    late = tills[0]
    agenda.note()  # Charges that are on it are settled beside one that stays open.
    with held_open(lambda: late.charged(20000), PATIENCE_SECONDS):
        killed = kill_looks()
        assert Run.objects.count() == MERCHANTS
    killed += kill_looks()
    for _ in range(2):
        clock.advance(timedelta(days=100))
        settle_all()

    tried(killed, "looks of settlement that were killed")
    expected = {till.merchant.id: 16501 for till in tills} | {late.merchant.id: 36501}
    assert sums("available") == expected
    assert set(sums("pending").values()) == {0}
    runs = Run.objects.values_list("merchant").annotate(Sum("amount"))
    assert dict(runs) == expected
    assert events() == movements() == runs_that_moved()
    assert not Due.objects.filter(due_on__isnull=False).exists()
    checks = (*balances.CHECKS, *settlements.CHECKS)
    assert [said for check in checks for said in check().differences] == []


def settle_all() -> None:
    """Look until nothing is due: a look takes three seconds at most."""
    settle_due()
    while Due.objects.filter(due_on__lte=clock.now().date()).exists():
        settle_due()


def sums(kind: str) -> dict[str, int]:
    entries = LedgerEntry.objects.filter(account__kind=kind)
    return {merchant: int(sum_) for merchant, sum_ in entries.values_list("merchant").annotate(
        Sum("amount")
    )}  # fmt: skip


def events() -> dict[str, int]:
    rows = Event.objects.filter(type="balance.available")
    return dict(rows.values_list("merchant").annotate(Count("id")))


def movements() -> dict[str, int]:
    rows = Movement.objects.filter(kind="settlement")
    return dict(rows.values_list("merchant").annotate(Count("id")))


def runs_that_moved() -> dict[str, int]:
    rows = Run.objects.exclude(amount=0)
    return dict(rows.values_list("merchant").annotate(Count("id")))
