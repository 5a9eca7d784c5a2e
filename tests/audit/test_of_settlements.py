"""The audit compares runs of settlement with their entries, and finds what is left due."""

from datetime import timedelta

import pytest

from core import clock
from ledger.tasks import settle_due
from merchants.models import Merchant
from tests.audit.test_audit import audit, differences_of, unguarded
from tests.stage.bank_transport import BankTransport
from tests.stage.book_keeping import Till
from tests.stage.client import ApiClient

# In real transactions: a run sees what is committed.
pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])

MOVED, RUN, LEFT = "runs moved what they say", "settlements have their run", "nothing due is left"
CHECKS = {MOVED, RUN, LEFT}


@pytest.fixture
def merchant(acme: ApiClient, globex: ApiClient, bank: BankTransport) -> Merchant:
    """A merchant with a run and with a part of a later month, beside another."""
    for client in (acme, globex):
        Till(client.merchant).charge(9000, parts=3)
        settle_due()
    return acme.merchant


def found() -> set[str]:
    _status, said = audit()
    return {check for check in CHECKS if differences_of(check, said)}


def test_settled_books_agree(merchant: Merchant) -> None:
    assert found() == set()


PLANTED = [
    ("UPDATE ledger_run SET amount = amount + 1 WHERE merchant_id = '{m}'", {MOVED}),
    ("UPDATE ledger_run SET date = '2026-11-01' WHERE merchant_id = '{m}'", {MOVED}),
    ("DELETE FROM ledger_run WHERE merchant_id = '{m}'", {RUN}),
    # A part settled twice, and one whose remainder was dropped.
    ("UPDATE ledger_entry SET amount = 2 * amount WHERE merchant_id = '{m}' AND movement_id IN"
     " (SELECT id FROM ledger_movement WHERE kind = 'settlement')", {MOVED}),
    ("UPDATE ledger_entry SET amount = amount + 1 WHERE merchant_id = '{m}' AND movement_id IN"
     " (SELECT id FROM ledger_movement WHERE kind = 'settlement') AND available_on IS NOT NULL",
     {MOVED}),
]  # fmt: skip


@pytest.mark.every_case("each difference in the books must be found")
@pytest.mark.parametrize(("statement", "checks"), PLANTED, ids=range(len(PLANTED)))
def test_a_planted_difference_is_named_by_its_checks(
    statement: str, checks: set[str], merchant: Merchant
) -> None:
    unguarded(statement.format(m=merchant.id))

    # A run that is gone, or of another date, may leave something due as well.
    assert found() - {LEFT} == checks


def test_what_no_look_settles_is_named_after_a_minute(merchant: Merchant) -> None:
    clock.advance(timedelta(days=100))
    assert found() == {LEFT}

    settle_due()

    assert found() == set()
