"""Tables of the bank's NestPay doors: lines of an order's history, and visits at its gate."""

from django.db import models
from django.db.models import Q

from core.fields import CodeField
from testbank.models.digits import DIGITS_OF_A_CARD
from testbank.models.protocols import GateVisit, OrderLine


class NestpayLine(OrderLine):
    """One line of an order's history: a payment, or a refund, which has no name of the shop's.

    What became of it stands at its authorisation or its refund. A refund that the bank did not
    even try has a line, and no refund.
    """

    trans_id = CodeField(max_length=20, unique=True)
    is_refund = models.BooleanField(default=False)

    class Meta(OrderLine.Meta):
        abstract = False
        constraints = [
            *OrderLine.Meta.constraints,
            models.CheckConstraint(
                condition=Q(is_refund=True) | Q(refund=None),
                name="bank_nestpay_payments_are_no_refunds",
            ),
            models.CheckConstraint(
                condition=~Q(trans_id__regex=DIGITS_OF_A_CARD),
                name="bank_nestpay_numbers_are_no_card_numbers",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.order_id}: {self.trans_id}"


class NestpayVisit(GateVisit):
    """One posting of a payer's browser to the gate of NestPay."""

    line = models.OneToOneField(
        NestpayLine, models.PROTECT, null=True, related_name="visit",
        help_text="The payment that its proof was used for.",
    )  # fmt: skip

    class Meta(GateVisit.Meta):
        abstract = False
        constraints = [
            *GateVisit.Meta.constraints,
            models.CheckConstraint(
                condition=~Q(line__isnull=False) | Q(used_at__isnull=False),
                name="bank_nestpay_pays_by_a_used_proof",
            ),
        ]
