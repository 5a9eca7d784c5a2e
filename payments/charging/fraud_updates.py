"""Verdicts that come after the attempt: the bank's warning by a notice, and a person's judgement.

Alone they change `fraud` and nothing else of the payment, with the event `.fraud_updated`.
"""

from dataclasses import asdict

from django.db import transaction

from acquirers.notices.models import Notice
from api import request_logs
from core import clock
from core.errors import DomainError, PermissionDenied
from events import outbox
from merchants import audit_log
from merchants.models import User
from payments.bank import attempts, fraud
from payments.intents import render
from payments.intents.models import Attempt, PaymentIntent
from payments.intents.refusals import IntentUnexpectedState
from payments.intents.states import FRAUD_UPDATED
from payments.risk import verdicts
from payments.risk.verdicts import FraudStatus, RiskVerdict

JUDGE = "intents.judge_fraud"
JUDGED = "operators.judge_fraud"  # The name of this work in the request logs.
# The verdicts that a person gives.
BY_PERSON = (FraudStatus.CLEAR, FraudStatus.FRAUD)


class JudgedMeanwhile(Exception):
    """Another verdict was given since the operator looked; nothing has changed."""


class ReasonMissing(DomainError):
    code = "parameter_missing"
    message = "Say why."
    param = "reason"


def warned(notice: Notice, attempt: Attempt) -> None:
    """Apply the bank's warning of fraud about an attempt; later ones change nothing.

    In the transaction that marks the notice (`acquirers.notices.applying`).
    """
    intent, attempt = attempts.locked(attempt)
    at = clock.unix(clock.now())
    _change(intent, attempt, verdicts.with_banks_warning(fraud.verdict_of(attempt), at=at))


def judge(
    operator: User, payment_id: str, status: FraudStatus, *, reason: str, seen: str | None = None
) -> PaymentIntent:
    """Mark a payment as fraud, or clear it; that stands until the bank says otherwise.

    :param status: CLEAR or FRAUD.
    :param reason: the operator's, kept in the audit log.
    :param seen: the verdict that the operator has seen; None if it does not matter.
    :raises JudgedMeanwhile: the verdict is another one by now.
    :raises PermissionDenied: the operator may not judge.
    :raises ResourceMissing: there is no such payment.
    :raises IntentUnexpectedState: nothing was tried yet, so there is nothing to judge.
    """
    if not operator.has_perm(JUDGE):
        raise PermissionDenied("The operator may not judge payments.")
    if not reason.strip():
        raise ReasonMissing
    if status not in BY_PERSON:
        raise ValueError(f"a person does not say {status}")
    with request_logs.job(JUDGED):
        return _judge(operator, payment_id, status, reason.strip(), seen)


@transaction.atomic(durable=True)
def _judge(
    operator: User, payment_id: str, status: FraudStatus, reason: str, seen: str | None
) -> PaymentIntent:
    intent = PaymentIntent.objects.select_related("merchant").lock(payment_id)
    if not intent.attempt_ids:
        raise IntentUnexpectedState(intent)
    attempt = intent.attempts.select_for_update().get(id=intent.attempt_ids[-1])
    before = intent.fraud.get("status")
    if seen is not None and seen != before:
        raise JudgedMeanwhile
    verdict = verdicts.by_person(fraud.verdict_of(attempt), status, at=clock.unix(clock.now()))
    _change(intent, attempt, verdict)
    audit_log.record(
        "payment.judged", merchant=intent.merchant, subject=intent.id,
        before={"fraud": before}, after={"fraud": status.value, "by": operator.pk}, reason=reason,
    )  # fmt: skip
    return intent


def _change(intent: PaymentIntent, attempt: Attempt, verdict: RiskVerdict) -> None:
    """Write a verdict into a locked attempt, and into its payment if that shows the attempt."""
    if verdict == fraud.verdict_of(attempt):
        return
    attempt.risk = asdict(verdict)
    attempt.save(update_fields=["risk"])
    if attempt.id not in intent.attempt_ids[-1:]:
        return  # It is not shown, or not yet: then its first status tells of it.
    before = render.payment_intent(intent)
    fraud.show(intent, attempt)
    intent.save(update_fields=["fraud"])
    outbox.record(intent.merchant, FRAUD_UPDATED, render.payment_intent(intent), before)
