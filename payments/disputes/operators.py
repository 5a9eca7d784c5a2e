"""Disputes opened and decided by an operator, for a bank that sends no notices.

The same functions as for a bank's notice. The operator and the reason are kept in the same
transaction (Django's log of the admin), and the bank's later decision wins over theirs.
"""

from typing import NamedTuple

from django.contrib.admin.models import ADDITION, CHANGE, LogEntry
from django.db import models, transaction

from acquirers import references
from api import request_logs
from core.errors import SentBefore
from events.transitions import UnlistedTransition
from merchants import audit_log
from merchants.audit_log import LoggedChange
from merchants.models import User
from payments.disputes import decisions, locks
from payments.disputes.decisions import Claim
from payments.disputes.models import Dispute
from payments.disputes.refusals import ClaimUnusable, DisputeUnexpectedState
from payments.disputes.states import DISPUTES, DisputeStatus
from payments.intents.models import PaymentIntent
from payments.intents.states import AttemptStatus

# The names of this work in the request logs.
OPENED, DECIDED = "operators.open_dispute", "operators.decide_dispute"


class Beginning(models.TextChoices):
    """The ways in which a dispute begins."""

    CHARGE_BACK = DisputeStatus.NEEDS_RESPONSE.value, "The bank has taken the money back"
    INQUIRY = DisputeStatus.WARNING_NEEDS_RESPONSE.value, "The bank asks, and has taken no money"


class DisputeDecision(models.TextChoices):
    """The statuses that an operator may decide."""

    WON = DisputeStatus.WON.value, "Won: the merchant keeps the money"
    LOST = DisputeStatus.LOST.value, "Lost: the cardholder keeps the money"
    ENDED = DisputeStatus.WARNING_CLOSED.value, "The inquiry has ended"
    ESCALATED = DisputeStatus.NEEDS_RESPONSE.value, "The inquiry became a chargeback"


class Opening(NamedTuple):
    """A dispute that an operator has heard of.

    :param dispute_id: of the form's act, so that a form that is sent twice opens one.
    :param claim: an empty `bank_reference` gets one of ours.
    :param reason: the operator's.
    """

    dispute_id: str
    beginning: Beginning
    claim: Claim
    reason: str


def open_dispute(operator: User, payment_id: str, heard: Opening) -> Dispute:
    """Write a dispute down that the operator has heard of, with its events.

    :raises ResourceMissing: there is no such payment.
    :raises SentBefore: the act was done before, with other values.
    :raises ClaimUnusable: the amount is not a part of what was captured, or the dispute is there.
    """
    with request_logs.job(OPENED):
        return _open(operator, payment_id, heard)


class Ruling(NamedTuple):
    """An operator's decision.

    :param seen: the status that the operator was shown.
    :param reason: the operator's.
    :param terms: of an inquiry that became a chargeback.
    """

    decision: DisputeDecision
    seen: str
    reason: str
    terms: Claim | None = None


def decide(operator: User, dispute_id: str, ruling: Ruling) -> Dispute:
    """Decide a dispute as the bank would by a notice.

    :raises ResourceMissing: there is no such dispute.
    :raises DisputeUnexpectedState: its status is another one by now, or does not allow the
        decision.
    """
    with request_logs.job(DECIDED):
        return _decide(operator, dispute_id, ruling)


@transaction.atomic(durable=True)
def _open(operator: User, payment_id: str, heard: Opening) -> Dispute:
    # The same act waits here until the other one has ended.
    intent = PaymentIntent.objects.select_related("merchant").lock(payment_id)
    if earlier := Dispute.objects.filter(id=heard.dispute_id).first():
        return _as_heard(earlier, payment_id, heard.claim)
    taken = intent.attempts.filter(status=AttemptStatus.SUCCEEDED).select_for_update().first()
    if taken is None:
        raise ClaimUnusable("nothing was captured of the payment")
    taken.intent = intent
    claim = heard.claim
    named = claim._replace(bank_reference=claim.bank_reference or references.new())
    known = locks.told_by_bank(taken, named.bank_reference)
    if known is not None:
        raise ClaimUnusable(f"it is {known.id} already")
    begin = decisions.inquire if heard.beginning is Beginning.INQUIRY else decisions.charge_back
    dispute = begin(taken, named, heard.dispute_id)
    _log(operator, dispute, ADDITION, heard.reason)
    facts = ("intent_id", "amount", "currency", "status", "reason", "bank_reference")
    after = {name: getattr(dispute, name) for name in facts}
    change = LoggedChange("dispute.opened", dispute.id, after=after)
    audit_log.record_all(dispute.merchant, [change], heard.reason)
    return dispute


def _as_heard(earlier: Dispute, payment_id: str, claim: Claim) -> Dispute:
    is_same_claim = claim.bank_reference in ("", earlier.bank_reference)
    if (earlier.intent_id, earlier.amount) != (payment_id, claim.amount) or not is_same_claim:
        raise SentBefore
    return earlier


@transaction.atomic(durable=True)
def _decide(operator: User, dispute_id: str, ruling: Ruling) -> Dispute:
    decision, seen = ruling.decision, ruling.seen
    dispute = locks.by_id(dispute_id, PaymentIntent.objects.all())
    # A decision about a status of before would turn the bank's around.
    if dispute.status != seen or (seen, decision.value) not in DISPUTES.pairs:
        raise DisputeUnexpectedState(dispute)
    before = {"status": dispute.status}
    try:
        _carry_out(decision, dispute, ruling.terms)
    except UnlistedTransition as problem:
        raise DisputeUnexpectedState(dispute) from problem
    _log(operator, dispute, CHANGE, f"{decision.label}. {ruling.reason}")
    after = {"status": decision.value}
    change = LoggedChange("dispute.decided", dispute.id, before, after)
    audit_log.record_all(dispute.merchant, [change], ruling.reason)
    return dispute


def _carry_out(decision: DisputeDecision, dispute: Dispute, terms: Claim | None) -> None:
    if decision is DisputeDecision.WON:
        decisions.win(dispute)
    elif decision is DisputeDecision.LOST:
        decisions.lose(dispute)
    elif decision is DisputeDecision.ENDED:
        decisions.end_inquiry(dispute)
    elif terms is not None:
        decisions.escalate(dispute, terms)


def _log(operator: User, dispute: Dispute, action: int, reason: str) -> None:
    LogEntry.objects.log_actions(operator.pk, [dispute], action, reason, single_object=True)
