"""A payment's money is due on the business day after its capture, where the merchant is."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from core import clock
from ledger.models import Movement
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

FRIDAY, SATURDAY, SUNDAY, MONDAY = 4, 5, 6, 0


def go_to(weekday: int, hour: int, minute: int) -> datetime:
    """Move the clock to the next such time in UTC."""
    now = clock.now()
    then = datetime(now.year, now.month, now.day, hour, minute, tzinfo=UTC)
    then += timedelta(days=(weekday - then.weekday()) % 7 or 7)
    clock.advance(then - now)
    return then


@pytest.mark.parametrize(
    ("weekday", "hour", "days"),
    # In Istanbul it is three hours later: from 21:00 on the next day has begun there.
    [(MONDAY, 20, 1), (MONDAY, 22, 2), (FRIDAY, 20, 3), (SATURDAY, 20, 2), (SUNDAY, 22, 2)],
)
def test_money_is_due_on_the_next_business_day_of_the_merchant(
    weekday: int, hour: int, days: int, acme: ApiClient, bank: BankTransport
) -> None:
    assert acme.merchant.timezone == "Europe/Istanbul"
    began = go_to(weekday, hour, 30)

    acme.pay()

    movement = Movement.objects.get()
    assert movement.available_on == began.date() + timedelta(days=days)


def test_of_a_capture_its_own_day_counts(acme: ApiClient, bank: BankTransport) -> None:
    go_to(MONDAY, 10, 0)
    authorized = acme.pay(capture_method="manual")
    captured_at = go_to(FRIDAY, 10, 0)

    acme.post(f"/v1/payment_intents/{authorized['id']}/capture")

    here = captured_at.astimezone(ZoneInfo("Europe/Istanbul")).date()
    assert Movement.objects.get().available_on == here + timedelta(days=3)
