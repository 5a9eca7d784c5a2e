"""Refunds, and the money that went back to cards by them or came back from there."""

from django.db import models
from django.db.models import Q

from core.fields import CodeField
from testbank.models.authorizations import Authorization
from testbank.models.digits import DIGITS_OF_A_CARD
from testbank.states import RefundState


class Refund(models.Model):
    """One refund, by the reference that the service chose. Amount in minor units."""

    reference = CodeField(max_length=64, unique=True)
    authorization = models.ForeignKey(Authorization, models.PROTECT, related_name="refunds")
    amount = models.BigIntegerField()
    state = models.CharField(max_length=16, choices=RefundState)
    response_code = models.CharField(max_length=2)
    # The number that the cardholder finds on the statement; empty until the money has left.
    network_reference = models.CharField(max_length=32, blank=True)
    created_at = models.DateTimeField()
    # When the bank decides about a pending one.
    due_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["due_at"],
                condition=Q(due_at__isnull=False),
                name="bank_refunds_that_are_due",
            ),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(amount__gte=1),
                name="bank_refunds_at_least_one_minor_unit",
            ),
            models.CheckConstraint(
                condition=Q(state=RefundState.PENDING, due_at__isnull=False)
                | (~Q(state=RefundState.PENDING) & Q(due_at=None)),
                name="bank_decides_only_about_pending_refunds",
            ),
            models.CheckConstraint(
                condition=~(
                    Q(reference__regex=DIGITS_OF_A_CARD)
                    | Q(network_reference__regex=DIGITS_OF_A_CARD)
                ),
                name="bank_refunds_without_a_card_number",
            ),
        ]

    def __str__(self) -> str:
        return self.reference


class Repayment(models.Model):
    """Money of a refund that went back to the card, in minor units."""

    refund = models.OneToOneField(Refund, models.PROTECT, related_name="repayment")
    amount = models.BigIntegerField()
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(amount__gte=1),
                name="bank_repays_at_least_one_minor_unit",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.refund_id}: {self.amount}"


class Bounce(models.Model):
    """Money of a refund that could not be credited to the card and came back, in minor units."""

    refund = models.OneToOneField(Refund, models.PROTECT, related_name="bounce")
    amount = models.BigIntegerField()
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(amount__gte=1),
                name="bank_bounces_at_least_one_minor_unit",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.refund_id}: {self.amount}"
