"""Evidence and acceptances that are owed to a bank: written down first, sent until acknowledged.

No merchant's request waits for the bank: the sweeper sends them, at once and then again and again.
"""

import structlog

import acquirers
from acquirers import refused_requests
from acquirers.conversation import leases, schedule
from acquirers.conversation.kinds import Effect, Facts, Kind, Said
from acquirers.conversation.models import begun
from acquirers.exchanges import Spoken
from acquirers.models import BankExchange
from acquirers.outcomes import Answer, Outcome
from core import clock, context, ids
from events import transitions
from payments.bank.orders import order_of
from payments.disputes import locks
from payments.disputes.models import Dispute, DisputeDelivery
from payments.disputes.states import DELIVERIES, DeliveryKind, DeliveryStatus
from payments.intents.models import Attempt, PaymentIntent

EXCHANGES = {
    DeliveryKind.EVIDENCE: BankExchange.Operation.EVIDENCE,
    DeliveryKind.ACCEPTANCE: BankExchange.Operation.ACCEPTANCE,
    DeliveryKind.END: BankExchange.Operation.ACCEPTANCE,
}
# Other answers leave it open whether the bank has it.
ENDED = {
    Answer.APPROVED: DeliveryStatus.ACKNOWLEDGED,
    Answer.DECLINED: DeliveryStatus.REFUSED,
}
log = structlog.get_logger(__name__)


class Deliveries(Kind[DisputeDelivery]):
    """Evidence and acceptances that no bank has acknowledged yet."""

    model = DisputeDelivery
    slots = 2

    def facts(self, asked: DisputeDelivery, outcome: Outcome) -> Facts[DisputeDelivery]:
        row = _locked(asked)
        spoken = Spoken(asked.dispute.attempt, EXCHANGES[DeliveryKind(row.kind)], row.id)
        return Facts(row, row, spoken, outcome, is_open=row.status == DeliveryStatus.OWED)

    def ask(self, row: DisputeDelivery) -> Outcome:
        """Send the bank what it is owed, once more."""
        attempt = row.dispute.attempt
        return refused_requests.watched(attempt.terminal, _sent(row, attempt))

    def consequences(self, row: DisputeDelivery, said: Said[DisputeDelivery]) -> Effect:
        status = ENDED.get(said.outcome.answer)
        if status is None:
            schedule.ask_later(row)  # It is sent again then.
            return Effect()
        _close(row, status)
        row.answer = said.outcome.answer.value
        if status is DeliveryStatus.REFUSED:
            log.error("dispute_delivery_refused", delivery=row.id, dispute=row.dispute_id)
        return Effect()


KIND = Deliveries()


def owe_evidence(dispute: Dispute) -> None:
    """Write down that the bank gets the dispute's evidence, under its number of submissions.

    In the transaction of the submission: the caller has locked the dispute.
    """
    row = _drafted(dispute, DeliveryKind.EVIDENCE)
    row.number, row.evidence = dispute.submission_count, dispute.evidence
    row.save(force_insert=True)


def owe_acceptance(dispute: Dispute) -> None:
    """Write the message to the bank that the merchant has closed the locked dispute."""
    _drafted(dispute, DeliveryKind.ACCEPTANCE).save(force_insert=True)


def owe_end(dispute: Dispute) -> None:
    """Write the message to the bank that the merchant has closed the locked inquiry.

    It says no more: the bank may have charged the payment back in the meantime.
    """
    _drafted(dispute, DeliveryKind.END).save(force_insert=True)


def supersede(dispute: Dispute) -> None:
    """End what is still owed about the locked dispute: it goes on, or ends, without it.

    The bank's later decision wins: an acceptance that is on its way must not answer it.
    """
    owed = dispute.deliveries.filter(status=DeliveryStatus.OWED)
    for row in owed.select_for_update():
        _close(row, DeliveryStatus.SUPERSEDED)
        row.save()


def _sent(row: DisputeDelivery, attempt: Attempt) -> Outcome:
    gateway, order = acquirers.of(attempt), order_of(attempt)
    bank_reference = row.dispute.bank_reference
    if row.kind == DeliveryKind.END:
        return gateway.end_inquiry(order, dispute=bank_reference)
    if row.number is None or row.evidence is None:
        return gateway.accept_dispute(order, dispute=bank_reference)
    return gateway.submit_evidence(
        order, dispute=bank_reference, number=row.number, evidence=row.evidence
    )


def _locked(asked: DisputeDelivery) -> DisputeDelivery:
    # Behind its payment, as everybody locks who decides the dispute: the exchange that is written
    # refers to the attempt, and its foreign key is checked last.
    dispute = locks.by_id(asked.dispute_id, PaymentIntent.objects.all())
    found: DisputeDelivery = dispute.deliveries.select_for_update().get(id=asked.id)
    return found


def _drafted(dispute: Dispute, kind: DeliveryKind) -> DisputeDelivery:
    now = clock.now()
    return DisputeDelivery(
        id=ids.new("ddl"),
        merchant_id=dispute.merchant_id,
        dispute=dispute,
        kind=kind,
        request_id=context.request_id(),
        created_at=now,
        **begun(now, lease_until=None),
    )


def _close(row: DisputeDelivery, status: DeliveryStatus) -> None:
    transitions.change(row, status, table=DELIVERIES)
    row.closed_at = clock.now()
    schedule.never_look(row)
    leases.end_with(row)
