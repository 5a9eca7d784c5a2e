"""Tables of the bank's Garanti doors: transactions of an order, and visits at its gate."""

from django.db import models
from django.db.models import Q

from testbank.models.protocols import GateVisit, OrderLine
from testbank.states import TransactionKind


class GarantiLine(OrderLine):
    """One transaction of an order: each has a number of its own (`host_ref`).

    How a payment or a refund ended stands at its authorisation or its refund.

    :ivar code: the host's answer to a capture or a void; empty for the others.
    """

    kind = models.CharField(max_length=8, choices=TransactionKind)
    code = models.CharField(max_length=2, blank=True)

    class Meta(OrderLine.Meta):
        abstract = False
        constraints = [
            *OrderLine.Meta.constraints,
            models.CheckConstraint(
                condition=Q(host_ref__regex="^[0-9]{12}$"), name="bank_garanti_numbers_all_it_does"
            ),
            models.CheckConstraint(
                condition=Q(kind=TransactionKind.REFUND, refund__isnull=False)
                | (~Q(kind=TransactionKind.REFUND) & Q(refund=None)),
                name="bank_garanti_refunds_have_a_refund",
            ),
        ]


class GarantiVisit(GateVisit):
    """One posting of a payer's browser to the gate of Garanti."""

    line = models.OneToOneField(
        GarantiLine, models.PROTECT, null=True, related_name="visit",
        help_text="The payment that its proof was used for.",
    )  # fmt: skip

    class Meta(GateVisit.Meta):
        abstract = False
        constraints = [
            *GateVisit.Meta.constraints,
            models.CheckConstraint(
                condition=~Q(line__isnull=False) | Q(used_at__isnull=False),
                name="bank_garanti_pays_by_a_used_proof",
            ),
        ]
