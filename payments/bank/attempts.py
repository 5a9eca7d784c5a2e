"""Attempts in conversation with the bank: authorisations whose end is not known (architecture 3a).

The request, its retry, the payer's return, the sweeper and an operator's decision end in them.
"""

from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

import acquirers
from acquirers import references, standings
from acquirers.conversation import answers, leases
from acquirers.conversation.kinds import Effect, Facts, Kind, Said
from acquirers.conversation.models import begun
from acquirers.declines import AUTHENTICATION_ABANDONED, explain
from acquirers.exchanges import Spoken
from acquirers.models import BankExchange
from acquirers.outcomes import Answer, Outcome
from cases.states import CaseDecision, CaseKind
from core import clock, ids, rows
from core.errors import ResourceMissing
from payments.bank import authorization, fraud, late, modification_rows, taken_back
from payments.bank.authorization import end_unpaid
from payments.bank.orders import order_of
from payments.intents import deadlines
from payments.intents.models import Attempt, PaymentIntent
from payments.intents.states import (
    EXPIRED,
    OPEN_ATTEMPT,
    AttemptStatus,
    ModificationKind,
    PaymentStatus,
)
from payments.intents.transition import DOOR

BY_ID = "id = %(id)s::text"
INQUIRY = BankExchange.Operation.AUTHORIZATION_INQUIRY
SILENT = (Answer.UNKNOWN, Answer.PENDING)
# A soft decline's attempt and its successor have these in common.
COPIED = (
    "merchant_id", "intent_id", "terminal", "amount", "surcharge", "surcharge_rate_bps", "program",
    "currency", "installments", "capture_method", "sealed_card_id", "card", "return_url",
    "three_d_secure_requested", "request_id", "payer_ip_source",
)  # fmt: skip


class Attempts(Kind[Attempt]):
    """Authorisations whose end is not known, payers who are away, and authorised money."""

    model = Attempt
    id_prefix = "att"
    slots = 8
    door = DOOR
    stores_answer = True
    save = staticmethod(rows.update)

    def facts(self, asked: Attempt, outcome: Outcome) -> Facts[Attempt]:
        intent, attempt = locked(asked)
        # An authorisation that was answered at once needs no row: its columns say the same.
        spoken = Spoken(attempt, INQUIRY) if outcome.is_from_inquiry else None
        # While the payer is away nothing was sent that could still arrive.
        is_away = attempt.status == AttemptStatus.REQUIRES_ACTION
        known = outcome if is_away else answers.believed(attempt, outcome)
        is_open = attempt.status in OPEN_ATTEMPT and not _is_back(asked, attempt, outcome)
        return Facts(attempt, intent, spoken, known, is_open)

    def begun(self, row: Attempt) -> Attempt | None:
        # Before its end an authorisation is due if a person has decided that there is one.
        if row.status != AttemptStatus.AUTHORIZED or clock.now() < deadlines.expires_at(row):
            return row
        _expire(row)
        return None

    def ask(self, row: Attempt) -> Outcome:
        """Inquire at the bank how the authorisation ended."""
        if row.status in OPEN_ATTEMPT and _was_never_sent(row):
            return Outcome(Answer.AUTHENTICATION_REQUIRED)
        return standings.authorization(acquirers.of(row).inquire(order_of(row)))

    def consequences(self, row: Attempt, said: Said[Attempt]) -> Effect:
        intent, outcome = row.intent, said.outcome
        if _is_given_up(row, said):
            return _abandon(row, outcome)
        if said.goes_on and _is_soft(row, outcome):
            return _begin_anew(row, outcome)
        status = authorization.apply(intent, row, outcome)
        if outcome.is_from_inquiry:
            taken_back.look_once_more(row, outcome)
        fraud.hear_bank(row, outcome)
        if status == PaymentStatus.PROCESSING == intent.status:
            return Effect()  # Still no answer: no event.
        show_attempt(intent, row)
        return Effect(status)

    def hear_late(self, asked: Attempt, row: Attempt, outcome: Outcome) -> None:
        if row.status not in OPEN_ATTEMPT and not _is_back(asked, row, outcome):
            late.hear_charge(self, asked, row, outcome)

    def unanswered(self, since: datetime) -> dict[str, QuerySet[Any]]:
        silent = Attempt.objects.filter(status=AttemptStatus.PROCESSING, asked_at__lte=since)
        return {CaseKind.UNKNOWN_OUTCOME: silent.select_related("intent").order_by("asked_at")}

    def decisions(self, row: Attempt) -> tuple[str, ...]:
        return (CaseDecision.CHARGED, CaseDecision.NOT_CHARGED)

    def outcome_of(self, decided: Answer, inquiry: Outcome) -> Outcome:
        return Outcome(decided, exchange=inquiry.exchange)

    def look_by(self, row: Attempt) -> datetime | None:
        is_held = row.status == AttemptStatus.AUTHORIZED
        return deadlines.expires_at(row) if is_held else None


KIND = Attempts()


def locked(attempt: Attempt) -> tuple[PaymentIntent, Attempt]:
    """Return the payment and its attempt, locked in this order; decide on these only."""
    intent = rows.lock(PaymentIntent, BY_ID, id=attempt.intent_id)
    fresh = rows.lock(Attempt, BY_ID, id=attempt.id)
    if intent is None or fresh is None:
        raise ResourceMissing
    fresh.intent = intent
    if Attempt.intent.is_cached(attempt) and PaymentIntent.merchant.is_cached(attempt.intent):
        intent.merchant = attempt.intent.merchant  # Its changing columns are none of the payment's.
    return intent, fresh


def show_attempt(intent: PaymentIntent, attempt: Attempt) -> None:
    """Copy into the payment what it shows of the attempt that its new status comes from.

    Earlier attempts that it does not list yet are listed too: a soft decline had no event.
    """
    if attempt.id not in intent.attempt_ids:
        intent.attempt_ids = (
            _up_to(attempt, intent)
            if attempt.authentication_demanded
            else [*intent.attempt_ids, attempt.id]
        )
    intent.card, intent.return_url = attempt.card, attempt.return_url
    intent.installments = attempt.installments
    intent.three_d_secure_requested = attempt.three_d_secure_requested
    intent.three_d_secure_effective = "required" if attempt.authentication_demanded else "none"
    fraud.show(intent, attempt)


def _up_to(attempt: Attempt, intent: PaymentIntent) -> list[str]:
    earlier = intent.attempts.filter(created_at__lte=attempt.created_at)
    return list(earlier.order_by("created_at", "id").values_list("id", flat=True))


def _is_back(asked: Attempt, now: Attempt, outcome: Outcome) -> bool:
    """Return whether the payer may have come back after the bank was asked.

    Only a charge counts then, also of an attempt that has ended: they may have paid since.
    """
    was_away = asked.status == AttemptStatus.REQUIRES_ACTION
    return was_away and now.status != asked.status and outcome.answer is not Answer.APPROVED


def _was_never_sent(attempt: Attempt) -> bool:
    """Return whether no authorisation was sent: the authentication failed or did not begin."""
    is_refused = attempt.authentication.get("result") == "failed"
    return is_refused or (attempt.authentication_demanded and attempt.acs_url is None)


@transaction.atomic(durable=True)
def _expire(attempt: Attempt) -> None:
    """Leave an authorisation older than 7 days to the sweeper, to be released at the bank.

    Locks the payment before the attempt. Does nothing while a modification is under way.
    """
    _intent, attempt = locked(attempt)
    if attempt.status == AttemptStatus.AUTHORIZED and not modification_rows.has_open(attempt):
        modification_rows.leave_to_sweeper(
            attempt, ModificationKind.VOID, reason=EXPIRED, request_id=""
        )
    leases.end_with(attempt)
    attempt.save(update_fields=["lease_until"])


# --- A payer who did not come back ------------------------------------------------------------


def _is_given_up(attempt: Attempt, said: Said[Attempt]) -> bool:
    """Return whether the sweeper has asked about a payer who is away, and nothing was charged."""
    is_away = attempt.status == AttemptStatus.REQUIRES_ACTION
    return is_away and not said.goes_on and said.outcome.answer is not Answer.APPROVED


def _abandon(attempt: Attempt, outcome: Outcome) -> Effect:
    """Close the attempt of a payer who did not come back within an hour (contract 3).

    If the bank does not answer, the attempt stays open and is asked about again. Where its gate
    may have charged the card the payment is `processing` from then on.
    """
    if outcome.answer in SILENT:
        return _doubt(attempt, outcome) if attempt.may_be_charged_unseen else Effect()
    declined = Outcome(Answer.DECLINED)
    attempt.error = authorization.error_of(attempt, AUTHENTICATION_ABANDONED, declined)
    return Effect(authorization.fail(attempt.intent, attempt, AttemptStatus.ABANDONED))


def _doubt(attempt: Attempt, outcome: Outcome) -> Effect:
    status = authorization.apply(attempt.intent, attempt, outcome)
    show_attempt(attempt.intent, attempt)
    return Effect(status)


# --- A soft decline ---------------------------------------------------------------------------


def _is_soft(attempt: Attempt, outcome: Outcome) -> bool:
    """Return whether one more attempt with 3-D Secure follows, once (contract 2).

    The payer of a payment that has become `processing` can no longer be sent to the bank.
    """
    is_demand = outcome.answer is Answer.AUTHENTICATION_REQUIRED
    has_way = bool(attempt.return_url) and attempt.intent.status != PaymentStatus.PROCESSING
    return is_demand and has_way and not attempt.authentication_demanded


def _begin_anew(declined: Attempt, outcome: Outcome) -> Effect:
    """End a softly declined attempt, and let one with 3-D Secure follow it."""
    fraud.hear_bank(declined, outcome)
    judged = fraud.successor_of(declined)
    declined.error = authorization.error_of(declined, explain(outcome), outcome)
    end_unpaid(declined, AttemptStatus.FAILED)
    declined.closed_at = clock.now()
    return Effect(follow=lambda: _successor(declined, judged))


def _successor(declined: Attempt, judged: dict[str, Any]) -> Attempt:
    now = clock.now()
    return Attempt.objects.create(
        id=ids.new("att"),
        acquirer_reference=references.new(),
        authentication_demanded=True,
        created_at=now,
        **begun(now, lease_until=leases.end()),
        **judged,
        **{name: getattr(declined, name) for name in COPIED},
    )
