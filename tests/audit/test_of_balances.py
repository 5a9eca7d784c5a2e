"""The audit counts every entry again: checkpoints, balances and balance transactions must agree."""

import pytest

from ledger import checkpoints
from ledger.models import Boundary, Checkpoint
from merchants.models import Merchant
from tests.audit.test_audit import audit, differences_of, unguarded
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.transfers import enrich

# In real transactions: the job sees what is committed.
pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])

SHOWN, KEPT = "balances are their entries", "checkpoints are their entries"
LEFT_OUT, EARNED = "checkpoints leave no entry out", "balance transactions sum to balances"


@pytest.fixture
def merchant(acme: ApiClient, globex: ApiClient, bank: BankTransport) -> Merchant:
    """A merchant with entries in checkpoints and behind them, beside another."""
    for client in (acme, globex):
        enrich(client.merchant, 5000)
        enrich(client.merchant, 90, "eur")
    checkpoints.advance()
    enrich(acme.merchant, 700)
    return acme.merchant


PLANTED = [
    # The planted difference, and the checks that must name the merchant's account.
    ("UPDATE ledger_checkpoint SET sum = sum + 1 WHERE account_id = '{m}.try.available'",
     {KEPT, SHOWN}),
    ("UPDATE ledger_checkpoint SET sum = sum + 1 WHERE account_id = '{m}.try.transfers'",
     {KEPT}),
    ("UPDATE ledger_checkpoint SET boundary = boundary - 1, sum = sum - 5000"
     " WHERE account_id = '{m}.try.available'", {LEFT_OUT}),
    ("DELETE FROM ledger_checkpoint WHERE account_id = '{m}.eur.available'", {LEFT_OUT}),
    # As an entry that was committed late and is in no sum.
    ("UPDATE ledger_entry SET id = -1 WHERE amount = 700", {KEPT, SHOWN}),
    ("UPDATE ledger_entry SET amount = 5001 WHERE amount = 5000 AND merchant_id = '{m}'",
     {KEPT, SHOWN, EARNED}),
    ("UPDATE ledger_movement SET net = net + 1, amount = amount + 1 WHERE net = 700", {EARNED}),
    ("DELETE FROM ledger_movement WHERE net = 700", {SHOWN, EARNED}),
    ("UPDATE ledger_movement SET currency = 'usd' WHERE net = 700", {EARNED}),
]  # fmt: skip


@pytest.mark.every_case("each difference in the books must be found")
@pytest.mark.parametrize(("statement", "checks"), PLANTED, ids=range(len(PLANTED)))
def test_a_planted_difference_is_named_by_its_checks(
    statement: str, checks: set[str], merchant: Merchant
) -> None:
    unguarded(statement.format(m=merchant.id))

    _status, said = audit()

    found = {check for check in (SHOWN, KEPT, LEFT_OUT, EARNED) if differences_of(check, said)}
    assert found == checks
    for check in checks:
        assert merchant.id in differences_of(check, said)


def test_what_is_right_is_clean(merchant: Merchant) -> None:
    status, said = audit()

    assert status == 0, said
    assert f"{KEPT}: {Checkpoint.objects.count()} looked at, ok" in said
    assert f"{EARNED}: 4 looked at, ok" in said
    assert Boundary.objects.get().reached > 0
