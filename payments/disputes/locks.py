"""Disputes locked behind their payments: payment, attempt, dispute, in this order.

The ledger's account comes last. Before money moves, all of them are locked (contract-money,
architecture 3).
"""

from typing import Any

from core.errors import ResourceMissing
from payments.bank import attempts
from payments.disputes.models import Dispute
from payments.intents.models import Attempt, PaymentIntent


def payment_of(attempt: Attempt) -> Attempt:
    """Return the attempt as it is now, locked behind its payment, which it has with it."""
    intent, now = attempts.locked(attempt)
    now.intent = intent
    return now


def told_by_bank(attempt: Attempt, bank_reference: str) -> Dispute | None:
    """Return the dispute that the bank means, locked; None if it is new.

    :param attempt: locked, from `payment_of`.
    """
    rows = attempt.disputes.select_for_update()
    return _with_its_payment(rows.filter(bank_reference=bank_reference).first(), attempt)


def by_id(dispute_id: str, payments: Any) -> Dispute:
    """Return the dispute, locked behind its payment and its attempt.

    :param payments: the payments among which it is looked for: a merchant's, or all.
    :raises ResourceMissing: none of them has such a dispute.
    """
    intent = _locked_payment(dispute_id, payments)
    if intent is None:
        raise ResourceMissing(wanted=Dispute, given=dispute_id)
    attempt = intent.attempts.select_for_update().get(disputes=dispute_id)
    attempt.intent = intent
    dispute = _with_its_payment(attempt.disputes.select_for_update().get(id=dispute_id), attempt)
    assert dispute is not None
    return dispute


def _locked_payment(dispute_id: str, payments: Any) -> PaymentIntent | None:
    # Found and locked by one statement: a dispute's payment never changes.
    rows = payments.select_related("merchant").select_for_update(of=("self",))
    found: PaymentIntent | None = rows.filter(disputes=dispute_id).first()
    return found


def _with_its_payment(dispute: Dispute | None, attempt: Attempt) -> Dispute | None:
    if dispute is not None:
        dispute.attempt, dispute.intent = attempt, attempt.intent
        dispute.merchant = attempt.intent.merchant
    return dispute
