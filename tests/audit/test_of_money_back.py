"""`manage.py audit`: money that goes back is compared with payments, ledger and the bank's book."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from acquirers.conversation import settling
from acquirers.notices import tasks as notices
from acquirers.outcomes import Answer, Outcome
from acquirers.sandbox.gateway import SandboxGateway
from core import clock
from payments.disputes.models import Dispute
from payments.refunds import asking
from payments.refunds.models import Refund
from testbank import decisions
from tests.audit.test_audit import audit, differences_of, unguarded
from tests.stage.bank_days import begin_at_noon
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

DISPUTED_CARD = "4000000000000259"


@pytest.fixture
def given_back(acme: ApiClient, bank: BankTransport) -> dict[str, str]:
    """A payment of which a part was refunded and one whose dispute is open: ids by kind."""
    begin_at_noon()
    paid = acme.pay()["id"]
    refund = acme.refund(paid, 4000)["id"]
    disputed = acme.pay(DISPUTED_CARD)["id"]
    clock.advance(timedelta(seconds=10))
    notices.take_in()
    dispute = Dispute.objects.get()
    connection.check_constraints()
    return {
        "refund": refund,
        "payment": paid,
        "dispute": dispute.id,
        "disputed": disputed,
        "merchant": acme.merchant.id,
    }


def a_payment_that_counts_another_refund() -> None:
    unguarded("UPDATE intents_paymentintent SET refunded_minor = refunded_minor + 1")


def a_payment_that_counts_no_dispute() -> None:
    unguarded("UPDATE intents_paymentintent SET disputed_minor = 0 WHERE disputed_minor > 0")


def a_refund_that_did_not_move() -> None:
    unguarded("DELETE FROM ledger_movement WHERE kind LIKE 'refund%%'")
    unguarded("DELETE FROM ledger_entry WHERE movement_id NOT IN (SELECT id FROM ledger_movement)")


def a_refund_that_failed_and_was_not_returned() -> None:
    unguarded("UPDATE refunds_refund SET status = 'failed', failure_reason = 'declined'")


def a_refund_that_vanished() -> None:
    unguarded("DELETE FROM refunds_refund")


def a_dispute_that_holds_nothing_back() -> None:
    unguarded("DELETE FROM ledger_movement WHERE kind = 'dispute_opened'")
    unguarded("DELETE FROM ledger_entry WHERE movement_id NOT IN (SELECT id FROM ledger_movement)")


def a_dispute_lost_in_our_book_alone() -> None:
    unguarded("UPDATE disputes_dispute SET status = 'lost', closed_at = now()")


def a_dispute_that_vanished() -> None:
    unguarded("DELETE FROM disputes_dispute")


def more_fee_back_than_was_taken() -> None:
    unguarded(
        "INSERT INTO ledger_entry (merchant_id, movement_id, account_id, currency, amount)"
        " SELECT m.merchant_id, m.id, m.merchant_id || '.try.fees', 'try', -100000"
        " FROM ledger_movement m WHERE m.kind = 'refund'"
    )


def a_refund_that_the_bank_never_made() -> None:
    unguarded("DELETE FROM testbank_repayment", database="bank")


def another_refund_at_the_bank() -> None:
    unguarded("UPDATE testbank_repayment SET amount = amount + 1", database="bank")


def a_refund_at_the_bank_that_we_never_asked_for() -> None:
    unguarded("UPDATE testbank_refund SET reference = 'UNASKED'", database="bank")


PLANTED: list[tuple[Callable[[], None], str, str]] = [
    # the planted difference, the check that must find it, the object whose id it must name
    (a_payment_that_counts_another_refund, "payments count their refunds and disputes", "payment"),
    (a_payment_that_counts_no_dispute, "payments count their refunds and disputes", "disputed"),
    (a_refund_that_did_not_move, "refunds are in the ledger", "refund"),
    (a_refund_that_did_not_move, "accounts are what their objects say", "merchant"),
    (a_refund_that_failed_and_was_not_returned, "refunds are in the ledger", "refund"),
    (a_refund_that_vanished, "movements back have their refund or dispute", "refund"),
    (a_dispute_that_holds_nothing_back, "disputes are in the ledger", "dispute"),
    (a_dispute_lost_in_our_book_alone, "disputes are in the ledger", "dispute"),
    (a_dispute_lost_in_our_book_alone, "the bank's book is ours", "disputed"),
    (a_dispute_that_vanished, "movements back have their refund or dispute", "dispute"),
    (more_fee_back_than_was_taken, "no charge gives back more than it took", "fees"),
    (a_refund_that_the_bank_never_made, "the bank's book is ours", "payment"),
    (another_refund_at_the_bank, "the bank's book is ours", "payment"),
    (a_refund_at_the_bank_that_we_never_asked_for, "the bank's book is ours", "payment"),
]


@pytest.mark.every_case("each difference in the books must be found")
@pytest.mark.parametrize(
    ("plant", "check", "named"), PLANTED, ids=[f"{p.__name__}: {check}" for p, check, _ in PLANTED]
)
def test_a_planted_difference_is_named(
    plant: Callable[[], None], check: str, named: str, given_back: dict[str, str]
) -> None:
    assert audit()[0] == 0
    plant()

    status, said = audit()

    assert status == 1
    assert given_back.get(named, named) in differences_of(check, said)


def test_a_notice_that_is_not_applied_is_listed_and_no_difference(
    given_back: dict[str, str],
) -> None:
    unguarded("UPDATE notices_notice SET applied_at = NULL, next_try_at = now()")

    status, said = audit()

    assert status == 0
    assert "is not applied" in said


# --- A yes that comes after the end ---------------------------------------------------------------


def test_a_refund_that_the_bank_made_after_its_end_is_named(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin_at_noon()
    real, yes = SandboxGateway.refund, []

    def contradicts(gateway: SandboxGateway, *order: Any, **terms: Any) -> Outcome:
        yes.append(real(gateway, *order, **terms))
        return Outcome(Answer.DECLINED)

    with monkeypatch.context() as patched:
        patched.setattr(SandboxGateway, "refund", contradicts)
        refund = acme.refund(acme.pay()["id"], 4000)
    assert (refund["status"], audit()[0]) == ("failed", 1)

    settling.settle(asking.KIND, Refund.objects.get(), yes[0])

    status, said = audit()
    assert (status, acme.refunded(refund["id"])["status"]) == (1, "failed")
    assert refund["id"] in differences_of("refunds ended as the bank says", said)
    assert refund["attempt"] in differences_of("the bank's book is ours", said)


def test_a_yes_that_its_bounce_has_overtaken_is_no_difference(
    acme: ApiClient, bank: BankTransport
) -> None:
    begin_at_noon()
    bank.fault, paid = None, acme.pay()["id"]
    bank.fault = "cut_after"
    refund = acme.refund(paid, 4000)
    bank.fault = None
    asked = Refund.objects.get()
    yes = asking.KIND.ask(asked)
    decisions.bounce(asked.acquirer_reference)
    notices.take_in()

    settling.settle(asking.KIND, asked, yes)

    assert acme.refunded(refund["id"])["status"] == "failed"
    assert acme.payment(paid)["amount_refundable"] == 12500
    assert audit()[0] == 0
