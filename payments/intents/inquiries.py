"""Resolve payments whose outcome is unknown, and act on attempts whose deadline has passed.

An outcome is unknown because the bank did not answer, or because the process that asked it died.
A deadline passes when the payer does not come back, or when an authorisation expires.
"""

from typing import Any

import structlog
from django.db import transaction

import acquirers
from acquirers import exchanges, standings
from acquirers.declines import AUTHENTICATION_ABANDONED
from acquirers.in_doubt import leases, settling
from acquirers.in_doubt.kinds import Kind
from acquirers.outcomes import Answer, Outcome
from core import clock
from merchants.models import Merchant
from payments.intents import authorization, deadlines, modification_rows, render
from payments.intents.models import Attempt, Modification, PaymentIntent
from payments.intents.modification_effects import EXPIRED
from payments.intents.modifications import MODIFICATIONS
from payments.intents.orders import order_of
from payments.intents.states import (
    IN_FLIGHT,
    OPEN_ATTEMPT,
    AttemptStatus,
    ModificationKind,
    ModificationStatus,
    Status,
)
from payments.intents.transition import move

log = structlog.get_logger(__name__)


class Attempts(Kind[Attempt]):
    """Authorisations whose end is not known, payers who are away, and authorised money."""

    model = Attempt

    def begun(self, row: Attempt) -> Attempt | None:
        # Before its end an authorisation is due if a person has decided that there is one.
        if row.status != AttemptStatus.AUTHORIZED or clock.now() < deadlines.expires_at(row):
            return row
        _expire(row)
        return None

    def ask(self, row: Attempt) -> Outcome:
        return ask(row)

    def resolve(self, row: Attempt, outcome: Outcome) -> Any:
        return resolve(row, outcome)


def ask(attempt: Attempt) -> Outcome:
    """Inquire at the bank how the authorisation ended; no transaction is open.

    The caller holds the attempt's lease.
    """
    if attempt.status in OPEN_ATTEMPT and _was_never_sent(attempt):
        return Outcome(Answer.AUTHENTICATION_REQUIRED)
    return standings.authorization(acquirers.of(attempt).inquire(order_of(attempt)))


def _was_never_sent(attempt: Attempt) -> bool:
    """Tell whether no authorisation was sent: the authentication failed or did not begin."""
    is_refused = attempt.authentication.get("result") == "failed"
    return is_refused or (attempt.authentication_demanded and attempt.acs_url is None)


def resolve(attempt: Attempt, outcome: Outcome) -> PaymentIntent:
    """Apply the bank's answer to the payer or the authorisation that is awaited."""
    if attempt.status == AttemptStatus.REQUIRES_ACTION and outcome.answer is not Answer.APPROVED:
        return _abandon(attempt, outcome)
    return authorization.apply(attempt, outcome)


def ask_first(merchant: Merchant, intent_id: str) -> None:
    """Resolve a `processing` payment before a capture or a cancellation of it (architecture 2).

    Does nothing for a payment in any other status.

    :raises LockTimeout: another process is asking the bank this moment.
    """
    intents = PaymentIntent.objects.for_merchant(merchant).filter(id=intent_id)
    intent = intents.filter(status=Status.PROCESSING).first()
    if intent is None:
        return
    if waiting := intent.attempts.filter(status=AttemptStatus.PROCESSING).first():
        with leases.held(waiting) as attempt:
            resolve(attempt, ask(attempt))
    elif under_way := _modification_of(intent):
        with leases.held(under_way) as modification:
            _ask_about(modification)


def _ask_about(modification: Modification) -> None:
    # Ended since it was found: to ask for its release once more could give captured money back.
    if modification.status == ModificationStatus.PROCESSING:
        settling.settle(MODIFICATIONS, modification, MODIFICATIONS.ask(modification))


def _modification_of(intent: PaymentIntent) -> Modification | None:
    # Not a reversal: its attempt is closed, and the payment goes on.
    rows = Modification.objects.filter(attempt__intent=intent, kind__in=IN_FLIGHT)
    found: Modification | None = rows.filter(status=ModificationStatus.PROCESSING).first()
    return found


@transaction.atomic(durable=True)
def _expire(attempt: Attempt) -> None:
    """Leave an authorisation older than 7 days to the sweeper, to be released at the bank.

    Locks the payment before the attempt. Does nothing while a modification is under way.
    """
    _intent, attempt = authorization.locked(attempt)
    if attempt.status == AttemptStatus.AUTHORIZED and not modification_rows.has_open(attempt):
        modification_rows.leave_to_sweeper(
            attempt, ModificationKind.VOID, reason=EXPIRED, request_id=""
        )
    leases.end_with(attempt)
    attempt.save(update_fields=["lease_until"])


@transaction.atomic(durable=True)
def _abandon(attempt: Attempt, outcome: Outcome) -> PaymentIntent:
    """Close the attempt of a payer who did not come back within an hour (contract 3).

    If the bank does not answer, the attempt stays open and is asked about again.
    """
    intent, attempt = authorization.locked(attempt)
    exchanges.record_inquiry(attempt, outcome)
    if attempt.status != AttemptStatus.REQUIRES_ACTION:
        return intent  # The payer has come back meanwhile.
    leases.end_with(attempt)
    if outcome.answer in (Answer.UNKNOWN, Answer.PENDING):
        attempt.save()
        return intent
    before = render.payment_intent(intent)
    attempt.error = authorization.error_of(
        attempt, AUTHENTICATION_ABANDONED, Outcome(Answer.DECLINED)
    )
    status = authorization.fail(intent, attempt, AttemptStatus.ABANDONED)
    attempt.save()
    move(intent, status, before, request_id=attempt.request_id)
    return intent
