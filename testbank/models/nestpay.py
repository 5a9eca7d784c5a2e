"""Tables of the bank's NestPay doors: lines of an order's history, and visits at its gate."""

from django.db import models
from django.db.models import Q

from core.fields import CodeField
from testbank.models.authentications import Authentication
from testbank.models.authorizations import Authorization
from testbank.models.digits import DIGITS_OF_A_CARD
from testbank.models.refunds import Refund


class NestpayLine(models.Model):
    """One line of an order's history: a payment, or a refund, which has no name of the shop's.

    What became of it stands at its authorisation or its refund. A refund that the bank did not
    even try has a line, and no refund.
    """

    client_id = models.CharField(max_length=15)
    order_id = CodeField(max_length=64)
    trans_id = CodeField(max_length=20, unique=True)
    host_ref = models.CharField(max_length=12, blank=True)
    is_refund = models.BooleanField(default=False)
    # In minor units.
    amount = models.BigIntegerField()
    authorization = models.ForeignKey(Authorization, models.PROTECT, related_name="nestpay_lines")
    refund = models.OneToOneField(Refund, models.PROTECT, null=True, related_name="nestpay_line")
    created_at = models.DateTimeField()
    told_from = models.DateTimeField(help_text="Before it inquiries do not find the line.")

    class Meta:
        indexes = [
            models.Index(fields=["client_id", "order_id"], name="bank_nestpay_lines_of_an_order"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(amount__gte=1), name="bank_nestpay_lines_have_an_amount"
            ),
            models.CheckConstraint(
                condition=Q(is_refund=True) | Q(refund=None),
                name="bank_nestpay_payments_are_no_refunds",
            ),
            models.CheckConstraint(
                condition=~(
                    Q(client_id__regex=DIGITS_OF_A_CARD)
                    | Q(order_id__regex=DIGITS_OF_A_CARD)
                    | Q(trans_id__regex=DIGITS_OF_A_CARD)
                ),
                name="bank_nestpay_lines_without_a_card_number",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.order_id}: {self.trans_id}"


class NestpayVisit(models.Model):
    """One posting of a payer's browser to the 3-D gate, and what the gate sends back.

    :ivar echoed: the form's fields that the return repeats; neither number nor security code.
    :ivar wrong: what is wrong with the return, by a name of `testbank.misbehaviours`.
    """

    authentication = models.OneToOneField(
        Authentication, models.PROTECT, related_name="nestpay_visit"
    )
    client_id = models.CharField(max_length=15)
    order_id = CodeField(max_length=64)
    model = models.CharField(max_length=8)
    capture = models.BooleanField()
    fail_url = models.CharField(max_length=2000)
    payer_ip = models.CharField(max_length=39)
    masked = models.CharField(max_length=24)
    echoed = models.JSONField()
    wrong = models.CharField(max_length=40, blank=True)
    line = models.OneToOneField(
        NestpayLine, models.PROTECT, null=True, related_name="visit",
        help_text="The payment that its proof was used for.",
    )  # fmt: skip
    refusal = models.CharField(max_length=9, blank=True)
    used_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=~Q(line__isnull=False) | Q(used_at__isnull=False),
                name="bank_nestpay_pays_by_a_used_proof",
            ),
            models.CheckConstraint(
                condition=~(
                    Q(client_id__regex=DIGITS_OF_A_CARD) | Q(order_id__regex=DIGITS_OF_A_CARD)
                ),
                name="bank_nestpay_visits_without_a_card_number",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.order_id}: {self.authentication_id}"
