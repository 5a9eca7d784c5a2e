"""Disputes answered by their merchant: evidence given and submitted, or the dispute closed."""

from typing import Any

from django.db import transaction

from api import idempotency
from core import clock
from core.errors import ParameterMissing
from core.metadata import merge
from merchants import audit_log
from merchants.models import Merchant
from payments.disputes import decisions, deliveries, evidence, locks, render
from payments.disputes.models import Dispute
from payments.disputes.refusals import DisputeUnexpectedState, EvidencePastDue
from payments.disputes.states import ANSWERABLE, OPEN_INQUIRY, SUBMITTED, DisputeStatus
from payments.disputes.transition import move, write
from payments.intents.models import PaymentIntent


@transaction.atomic(durable=True)
def update(merchant: Merchant, dispute_id: str, changes: dict[str, Any]) -> Dispute:
    """Change evidence and metadata, and submit the evidence if that is asked for.

    No event if nothing changes. The bank gets the evidence from the sweeper.

    :param changes: a body that `UpdateDisputeForm` has validated.
    :raises ResourceMissing: the merchant has no such dispute.
    :raises EvidencePastDue: evidence or submission after the due date.
    :raises DisputeUnexpectedState: evidence or submission while it awaits none.
    :raises ParameterMissing: a submission without any evidence, now or before.
    :raises ParameterInvalid: more than 20,000 characters of evidence.
    """
    idempotency.take(dispute_id)
    # No money moves, so that the payment need not be locked.
    rows = Dispute.objects.for_merchant(merchant).select_related("intent", "merchant")
    dispute: Dispute = rows.lock(dispute_id)
    if changes.get("submit") or changes.get("evidence", {}) != {}:
        _require_answerable(dispute)
    before = render.dispute(dispute)
    if "metadata" in changes:
        dispute.metadata = merge(dispute.metadata, changes["metadata"])
    if "evidence" in changes:
        dispute.evidence = evidence.merged(dispute.evidence, changes["evidence"])
    if changes.get("submit"):
        _submit(dispute, before)
    else:
        write(dispute, before)
    action = "dispute.submitted" if changes.get("submit") else "dispute.updated"
    # The texts themselves are the dispute's, and may be long.
    after = {"evidence": sorted(dispute.evidence)}
    audit_log.record_by_person(action, merchant=merchant, subject=dispute_id, after=after)
    return dispute


@transaction.atomic(durable=True)
def close(merchant: Merchant, dispute_id: str) -> Dispute:
    """Accept a dispute, which is lost then, or end an inquiry; the sweeper informs the bank.

    :raises ResourceMissing: the merchant has no such dispute.
    :raises DisputeUnexpectedState: it does not wait for its merchant.
    """
    idempotency.take(dispute_id)
    dispute = locks.by_id(dispute_id, PaymentIntent.objects.for_merchant(merchant))
    if dispute.status == DisputeStatus.NEEDS_RESPONSE:
        decisions.lose(dispute)
        deliveries.owe_acceptance(dispute)
    elif dispute.status in OPEN_INQUIRY:
        decisions.end_inquiry(dispute)
        deliveries.owe_end(dispute)
    else:
        raise DisputeUnexpectedState(dispute)
    audit_log.record_by_person("dispute.closed", merchant=merchant, subject=dispute_id)
    return dispute


def _require_answerable(dispute: Dispute) -> None:
    if clock.now() >= dispute.evidence_due_by:
        raise EvidencePastDue(dispute)
    if dispute.status not in ANSWERABLE:
        raise DisputeUnexpectedState(dispute)


def _submit(dispute: Dispute, before: dict[str, Any]) -> None:
    if not dispute.evidence:
        raise ParameterMissing("There is no evidence to submit.", param="evidence")
    dispute.submission_count += 1
    deliveries.owe_evidence(dispute)
    move(dispute, SUBMITTED[DisputeStatus(dispute.status)], before)
