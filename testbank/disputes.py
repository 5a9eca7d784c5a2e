"""The acquirer's answers to disputes: evidence, each submission once, acceptance, an end."""

from django.db import transaction

from core import clock
from testbank import behaviours, book, chargebacks
from testbank.models import Evidence
from testbank.orders import Submission
from testbank.router import BANK
from testbank.states import DisputeState, EvidenceVerdict

DECISIVE_TEXT = "uncategorized_text"
VERDICTS = {"winning_evidence": EvidenceVerdict.WON, "losing_evidence": EvidenceVerdict.LOST}
OPEN = (DisputeState.INQUIRY, DisputeState.OPEN)
# States in which an acceptance has nothing left to do.
LOST = (DisputeState.LOST, DisputeState.ACCEPTED)
UNHEARD = (DisputeState.TO_COME, DisputeState.DROPPED)


@transaction.atomic(using=BANK, durable=True)
def submit(reference: str, submission: Submission) -> str:
    """Take evidence, once per number; return the bank's code.

    The book keeps that it came and where it leads: texts may hold anything.
    """
    dispute = book.locked_dispute(reference)
    if dispute is None or dispute.state in UNHEARD:
        return behaviours.NO_SUCH_RECORD
    if dispute.submissions.filter(number=submission.number).exists():
        return behaviours.APPROVED
    if dispute.state not in OPEN:
        return behaviours.INVALID_TRANSACTION
    verdict = VERDICTS.get(submission.texts.get(DECISIVE_TEXT, ""), "")
    Evidence.objects.create(
        dispute=dispute,
        number=submission.number,
        names=" ".join(sorted(submission.texts)),
        verdict=verdict,
        created_at=clock.now(),
    )
    chargebacks.weigh(dispute, verdict)
    return behaviours.APPROVED


@transaction.atomic(using=BANK, durable=True)
def accept(reference: str) -> str:
    """Take it that the merchant gives a dispute up; return the code. An inquiry is none yet."""
    dispute = book.locked_dispute(reference)
    if dispute is None or dispute.state in UNHEARD:
        return behaviours.NO_SUCH_RECORD
    if dispute.state == DisputeState.OPEN:
        chargebacks.lose(dispute, ends_as=DisputeState.ACCEPTED)
    elif dispute.state not in LOST:
        return behaviours.INVALID_TRANSACTION
    return behaviours.APPROVED


@transaction.atomic(using=BANK, durable=True)
def end_inquiry(reference: str) -> str:
    """Take it that the merchant lets an inquiry end; return the code. A dispute goes on."""
    dispute = book.locked_dispute(reference)
    if dispute is None or dispute.state in UNHEARD:
        return behaviours.NO_SUCH_RECORD
    if dispute.state == DisputeState.INQUIRY:
        chargebacks.close(dispute)
    elif dispute.state != DisputeState.CLOSED:
        return behaviours.INVALID_TRANSACTION
    return behaviours.APPROVED
