"""Resolve payments whose outcome is unknown, and act on attempts whose deadline has passed.

An outcome is unknown because the bank did not answer, or because the process that asked it died.
A deadline passes when the payer does not come back, or when an authorisation expires.
"""

import structlog
from django.db.models import Exists, OuterRef, Q

from acquirers import exchanges
from acquirers.conversation import leases, settling
from acquirers.outcomes import Answer
from core.errors import LockTimeout, UpstreamUnavailable
from merchants.models import Merchant
from payments.bank import attempts, modifications
from payments.intents.models import Attempt, Modification, PaymentIntent
from payments.intents.states import (
    IN_FLIGHT,
    AttemptStatus,
    ModificationStatus,
    PaymentStatus,
)

log = structlog.get_logger(__name__)


def ask_first(merchant: Merchant, intent_id: str) -> None:
    """Resolve a `processing` payment before a capture or a cancellation of it (architecture 2).

    Does nothing for a payment in any other status.

    :raises LockTimeout: another process is asking the bank this moment.
    """
    intents = PaymentIntent.objects.for_merchant(merchant).filter(id=intent_id)
    intent = intents.filter(status=PaymentStatus.PROCESSING).first()
    if intent is None:
        return
    if waiting := intent.attempts.filter(status=AttemptStatus.PROCESSING).first():
        with leases.held(waiting) as attempt:
            settling.settle(attempts.KIND, attempt, attempts.KIND.ask(attempt))
    elif under_way := _modification_of(intent):
        with leases.held(under_way) as modification:
            _ask_about(modification)


def ask_about_a_lost_payer(merchant: Merchant, intent_id: str) -> None:
    """Ask the bank whether it has charged a payer who is away, before a cancellation (contract 3).

    Does nothing where the bank charges in a call of ours alone.

    :raises LockTimeout: another process is asking the bank this moment.
    :raises UpstreamUnavailable: the bank does not say.
    """
    away = Attempt.objects.filter(
        intent_id=intent_id, merchant_id=merchant.id, status=AttemptStatus.REQUIRES_ACTION
    ).first()
    if away is None or not away.may_be_charged_unseen:
        return
    with leases.held(away) as attempt:
        outcome = attempts.KIND.ask(attempt)
        if outcome.answer in attempts.SILENT:
            raise UpstreamUnavailable("The bank does not say whether it has charged the card.")
        if outcome.answer is Answer.APPROVED:
            settling.settle(attempts.KIND, attempt, outcome)
        else:
            exchanges.record_inquiry(attempt, outcome)


def refuse_in_flight(intent: PaymentIntent) -> None:
    """Refuse while the bank is asked about the locked payment and its status does not show it yet.

    A `processing` payment passes: its status shows that the bank is asked.

    :raises LockTimeout: an attempt or a modification of the payment is at the bank.
    """
    # An expired authorisation's release does not count: it has no request, and may take days.
    asked_for = Modification.objects.filter(
        attempt=OuterRef("pk"), status=ModificationStatus.PROCESSING, kind__in=IN_FLIGHT
    ).exclude(request_id="")
    at_the_bank = Q(status=AttemptStatus.PROCESSING) | Exists(asked_for)
    if intent.status != PaymentStatus.PROCESSING and intent.attempts.filter(at_the_bank).exists():
        raise LockTimeout


def _ask_about(modification: Modification) -> None:
    # Ended since it was found: to ask for its release once more could give captured money back.
    if modification.status == ModificationStatus.PROCESSING:
        settling.settle(modifications.KIND, modification, modifications.KIND.ask(modification))


def _modification_of(intent: PaymentIntent) -> Modification | None:
    # Not a reversal: its attempt is closed, and the payment goes on.
    rows = Modification.objects.filter(attempt__intent=intent, kind__in=IN_FLIGHT)
    found: Modification | None = rows.filter(status=ModificationStatus.PROCESSING).first()
    return found
