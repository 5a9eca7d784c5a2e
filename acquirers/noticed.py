"""Notices of banks: unasked news about an order, numbered in the bank's order."""

import enum
from dataclasses import dataclass
from datetime import datetime


class NoticeKind(enum.Enum):
    """The events that banks send notices of, as far as the service knows them."""

    DISPUTE_OPENED = "dispute_opened"
    INQUIRY_OPENED = "inquiry_opened"
    DISPUTE_ESCALATED = "dispute_escalated"  # An inquiry became a chargeback.
    DISPUTE_WON = "dispute_won"
    DISPUTE_LOST = "dispute_lost"
    DISPUTE_REGAINED = "dispute_regained"  # Won after it was lost.
    INQUIRY_CLOSED = "inquiry_closed"
    REFUND_BOUNCED = "refund_bounced"  # The card could not be credited.
    FRAUD_WARNING = "fraud_warning"  # The issuer or the network says that a charge was fraud.


@dataclass(frozen=True, slots=True)
class Notice:
    """One notice of a bank.

    :param number: 1 for the bank's first; without gaps, in the order in which things happened.
    :param kind: one that is not listed is passed on as the bank writes it, 40 characters at most.
    :param reference: the order's, as the attempt has it.
    :param refund_reference: of the refund that it is about, as the service chose it.
    :param dispute: the bank's name for the dispute, 20 characters of 0-9 and A-Z.
    :param amount: in minor units: of the refund, or disputed.
    :param reason: of a dispute, as in contract-money unless the bank has others; None
        with a bounced refund.
    :param network_reason_code: the card network's or, of a bounced refund, the ISO 8583 code.
    :param due_by: until then the bank takes evidence.
    :param at: when it happened at the bank.
    """

    number: int
    kind: NoticeKind | str
    reference: str
    refund_reference: str | None
    dispute: str | None
    amount: int | None
    currency: str
    reason: str | None
    network_reason_code: str | None
    due_by: datetime | None
    at: datetime


class NoticesUnreadable(Exception):
    """The bank did not give its notices, or one of them cannot be read."""
