"""One payment with all that happened to it: the rows that its page shows, read once each."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from cases.models import Case
from merchants.models import AuditEntry, Member
from payments.checkout.models import CheckoutSession
from payments.disputes import render as dispute_render
from payments.disputes.models import Dispute
from payments.intents import render
from payments.intents.models import Attempt, Modification, PaymentIntent
from payments.intents.states import AttemptStatus, ModificationStatus, PaymentStatus
from payments.refunds.models import Refund
from payments.refunds.states import RefundStatus

# Of each kind the newest; more are reached by the lists.
MOST = 100
ACTS = (
    "payment.captured", "payment.canceled", "payment.noted", "checkout.created", "checkout.expired",
    "refund.created",
)  # fmt: skip


class PaymentParts(NamedTuple):
    """A payment's attempts, oldest first, and whatever else belongs to it, newest first."""

    payment: PaymentIntent
    attempts: Sequence[Attempt]
    modifications: Sequence[Modification]
    refunds: Sequence[Refund]
    disputes: Sequence[Dispute]
    cases: Sequence[Case]
    acts: Sequence[AuditEntry]
    sessions: Sequence[CheckoutSession]

    @property
    def is_under_way(self) -> bool:
        """Return whether something may change without anybody's doing."""
        waits = (PaymentStatus.PROCESSING, PaymentStatus.REQUIRES_ACTION)
        moving = [row.status == RefundStatus.PENDING and not row.is_waiting for row in self.refunds]
        return self.payment.status in waits or any(moving) or bool(self._in_flight)

    @property
    def asked_next_at(self) -> datetime | None:
        """Return when the bank is asked again how it ended; None if nothing is waited for."""
        dues = [row.due_at for row in self._in_flight if row.due_at]
        return min(dues, default=None) if self.payment.status == PaymentStatus.PROCESSING else None

    @property
    def has_open_case(self) -> bool:
        return any(case.is_open for case in self.cases)

    @property
    def last_attempt(self) -> Attempt | None:
        return self.attempts[-1] if self.attempts else None

    @property
    def _in_flight(self) -> list[Attempt | Modification]:
        asked = [row for row in self.attempts if row.status == AttemptStatus.PROCESSING]
        modified = [
            row for row in self.modifications if row.status == ModificationStatus.PROCESSING
        ]
        return [*asked, *modified]


def read(member: Member, payment: PaymentIntent) -> PaymentParts:
    """Read what belongs to a payment of the member's merchant."""
    merchant = member.merchant
    attempts = render.ATTEMPTS.filter(intent=payment, merchant=merchant)
    changed = Modification.objects.filter(attempt__intent=payment, merchant=merchant)
    refunds = Refund.objects.filter(intent=payment, merchant=merchant)
    disputes = dispute_render.DISPUTES.filter(intent=payment, merchant=merchant)
    cases = Case.objects.filter(intent=payment, merchant=merchant)
    newest = ("-created_at", "-id")
    # Without a session there is nothing to ask for.
    own = payment.checkout_sessions.filter(merchant=merchant).order_by(*newest)
    sessions = list(own[:MOST]) if payment.checkout_session else []
    made = list(refunds.order_by(*newest)[:MOST])
    subjects = [payment.id, *(one.id for one in sessions), *(one.id for one in made)]
    acts = AuditEntry.objects.filter(merchant=merchant, subject__in=subjects, action__in=ACTS)
    return PaymentParts(
        payment,
        list(attempts.order_by(*newest)[:MOST])[::-1],
        list(changed.order_by(*newest)[:MOST]),
        made,
        list(disputes.order_by(*newest)[:MOST]),
        list(cases.order_by("-opened_at", "-id")[:MOST]),
        list(acts.order_by("-sequence")[:MOST]),
        sessions,
    )
