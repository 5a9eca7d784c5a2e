"""The audit counts the days of charts again: a wrong count is found, with its merchant and day."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from audit import counted_days as check
from core import clock
from payments.intents import counted_days
from payments.intents.models import CountedDay, CountedMerchant, PaymentIntent
from tests.audit.test_audit import audit
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.database_role import past_guards
from tests.stage.factories import PaymentFactory

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

NAME = "counted days are their payments"
NOW = datetime(2024, 11, 26, 9, 0, tzinfo=UTC)


@pytest.fixture
def paid(acme: ApiClient, globex: ApiClient, monkeypatch: pytest.MonkeyPatch) -> PaymentIntent:
    """A payment of a day that is kept; another merchant has such a day, too."""
    monkeypatch.setattr(clock, "now", lambda: NOW)
    made = [
        PaymentFactory(merchant=client.merchant, created_at=clock.now() - timedelta(days=back))
        for client in (acme, globex)
        for back in (3, 2)
    ]
    while counted_days.count_due():
        pass
    return made[0]


def test_days_that_are_right_are_clean(paid: PaymentIntent, bank: BankTransport) -> None:
    _status, said = audit()

    assert f"{NAME}: {2 * counted_days.DAYS_KEPT} looked at, ok" in said


def _more(row: CountedDay) -> None:
    row.cells[0][3] += 1
    row.save()


def _nothing(row: CountedDay) -> None:
    row.delete()


def _a_day_without_payments(row: CountedDay) -> None:
    CountedDay.objects.create(
        merchant=row.merchant, day=row.day - timedelta(days=7), cells=row.cells
    )


def _a_change_that_is_not_marked(row: CountedDay) -> None:
    with past_guards():
        PaymentIntent.objects.for_merchant(row.merchant).update(captured_minor=7)


PLANTED = [_more, _nothing, _a_day_without_payments, _a_change_that_is_not_marked]


@pytest.mark.every_case("each wrong count of a day must be found")
@pytest.mark.parametrize("plant", PLANTED)
def test_a_wrong_count_is_named(plant: Callable[[CountedDay], None], paid: PaymentIntent) -> None:
    first = CountedDay.objects.for_merchant(paid.merchant).order_by("day")[0]

    plant(first)

    said = check.check().differences
    assert said
    assert all(one.startswith(f"merchant {paid.merchant_id}, 2024-11-") for one in said)


def test_a_day_with_a_late_change_is_left_to_the_job(paid: PaymentIntent) -> None:
    PaymentIntent.objects.filter(id=paid.id).update(captured_minor=7)

    assert check.check().differences == []


def test_a_merchant_who_is_not_counted_yet_has_nothing_to_compare(paid: PaymentIntent) -> None:
    reached = CountedMerchant.objects.get(merchant=paid.merchant)
    reached.until -= timedelta(days=400)
    reached.save()

    assert check.check().looked_at == counted_days.DAYS_KEPT
