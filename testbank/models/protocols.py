"""Tables that each protocol of a real bank has one of: lines of orders, and visits at a gate."""

from django.db import models
from django.db.models import Q

from core.fields import CodeField
from testbank.models.authentications import Authentication
from testbank.models.authorizations import Authorization
from testbank.models.digits import DIGITS_OF_A_CARD
from testbank.models.refunds import Refund


class OrderLine(models.Model):
    """One line of an order: something that the bank did, or tried to do.

    :ivar client_id: the terminal's number at the bank.
    """

    client_id = models.CharField(max_length=15)
    order_id = CodeField(max_length=64)
    host_ref = models.CharField(max_length=12, blank=True)
    # In minor units.
    amount = models.BigIntegerField()
    authorization = models.ForeignKey(Authorization, models.PROTECT, related_name="%(class)ss")
    refund = models.OneToOneField(Refund, models.PROTECT, null=True, related_name="%(class)s")
    created_at = models.DateTimeField()
    told_from = models.DateTimeField(help_text="Before it inquiries do not find the line.")

    class Meta:
        abstract = True
        indexes = [
            models.Index(fields=["client_id", "order_id"], name="bank_%(class)ss_of_an_order"),
        ]
        constraints = [
            models.CheckConstraint(condition=Q(amount__gte=1), name="bank_%(class)ss_have_amounts"),
            models.CheckConstraint(
                condition=~(
                    Q(client_id__regex=DIGITS_OF_A_CARD) | Q(order_id__regex=DIGITS_OF_A_CARD)
                ),
                name="bank_%(class)ss_without_a_card_number",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.order_id}: {self.host_ref}"


class GateVisit(models.Model):
    """One posting of a payer's browser to a 3-D gate, and what the gate sends back.

    :ivar echoed: the form's fields that the return repeats; neither number nor security code.
    :ivar wrong: what is wrong with the return, by a name of `testbank.misbehaviours`.
    """

    authentication = models.OneToOneField(Authentication, models.PROTECT, related_name="%(class)s")
    client_id = models.CharField(max_length=15)
    order_id = CodeField(max_length=64)
    model = models.CharField(max_length=8)
    capture = models.BooleanField()
    fail_url = models.CharField(max_length=2000)
    payer_ip = models.CharField(max_length=39)
    masked = models.CharField(max_length=24)
    echoed = models.JSONField()
    wrong = models.CharField(max_length=40, blank=True)
    refusal = models.CharField(max_length=9, blank=True)
    used_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True
        constraints = [
            models.CheckConstraint(
                condition=~(
                    Q(client_id__regex=DIGITS_OF_A_CARD) | Q(order_id__regex=DIGITS_OF_A_CARD)
                ),
                name="bank_%(class)ss_without_a_card_number",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.order_id}: {self.authentication_id}"
