"""Payouts as rows, with the constraints and indexes that guard and find them."""

from django.db import models
from django.db.models import Q

from acquirers.conversation.models import InDoubt
from core.fields import CodeField, JSONField, id_field
from core.querysets import MerchantManager
from payouts.states import FailureCode, PayoutStatus


class Payout(InDoubt):
    """Money of the merchant's that goes to an account of the merchant's (contract-money, Payout).

    The row and its money in the ledger exist before the bank is asked.
    """

    id = id_field()
    merchant = models.ForeignKey(
        "merchants.Merchant", models.PROTECT, related_name="+", db_index=False
    )
    # Ours: the transfer's name at the bank.
    acquirer_reference = CodeField(max_length=40, unique=True)
    # In minor units.
    amount = models.BigIntegerField()
    currency = models.CharField(max_length=3)
    status = models.CharField(max_length=10, choices=PayoutStatus, default=PayoutStatus.PENDING)
    # The beginning of a day in the merchant's timezone.
    arrival_at = models.DateTimeField()
    automatic = models.BooleanField(default=False)
    # The day, of the merchant's schedule, that made it.
    scheduled_on = models.DateField(null=True)
    # The account's reference, and its details as they were at creation.
    destination = CodeField(max_length=40)
    holder_name = models.CharField(max_length=200, blank=True)
    iban = models.CharField(max_length=34, blank=True)
    description = models.CharField(max_length=1000, null=True)
    statement_descriptor = models.CharField(max_length=22, null=True)
    failure_code = models.CharField(max_length=29, choices=FailureCode, null=True)
    # The number by which banks look for it.
    trace_id = models.CharField(max_length=40, null=True)
    metadata = JSONField(default=dict)
    # When it may first have left for the bank; null while it certainly has not.
    sent_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField()

    objects = MerchantManager()

    class Meta(InDoubt.Meta):
        indexes = [
            *InDoubt.Meta.indexes,
            # One for each order and each filter, in the order of the list.
            models.Index(fields=["merchant", "created_at", "id"], name="payouts_of_a_merchant"),
            models.Index(fields=["merchant", "amount", "id"], name="payouts_by_amount"),
            models.Index(fields=["merchant", "arrival_at", "id"], name="payouts_by_arrival"),
            models.Index(
                fields=["merchant", "status", "created_at", "id"], name="payouts_by_status"
            ),
            models.Index(
                fields=["merchant", "currency", "created_at", "id"], name="payouts_by_currency"
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["merchant", "currency", "scheduled_on"],
                condition=Q(scheduled_on__isnull=False),
                name="one_payout_per_scheduled_day_and_currency",
            ),
            models.CheckConstraint(condition=Q(amount__gte=1), name="a_payout_is_at_least_one"),
            models.CheckConstraint(
                condition=Q(automatic=True, scheduled_on__isnull=False)
                | Q(automatic=False, scheduled_on__isnull=True),
                name="an_automatic_payout_has_its_day",
            ),
            models.CheckConstraint(
                condition=Q(
                    status__in=[PayoutStatus.PENDING, PayoutStatus.IN_TRANSIT],
                    closed_at__isnull=True,
                )
                | Q(
                    status__in=[PayoutStatus.PAID, PayoutStatus.FAILED, PayoutStatus.CANCELED],
                    closed_at__isnull=False,
                    due_at__isnull=True,
                ),
                name="a_payout_is_on_its_way_or_closed",
            ),
            models.CheckConstraint(
                condition=Q(status=PayoutStatus.FAILED, failure_code__isnull=False)
                | (~Q(status=PayoutStatus.FAILED) & Q(failure_code__isnull=True)),
                name="a_failed_payout_says_why",
            ),
            models.CheckConstraint(
                condition=~Q(status__in=[PayoutStatus.PENDING, PayoutStatus.CANCELED])
                | Q(sent_at__isnull=True),
                name="a_pending_or_canceled_payout_has_not_left",
            ),
            models.CheckConstraint(
                condition=~Q(status=PayoutStatus.PAID) | Q(sent_at__isnull=False),
                name="a_paid_payout_has_left",
            ),
        ]

    def __str__(self) -> str:
        return self.id


class ScheduleLook(models.Model):
    """The last day on which a merchant's schedule was looked at and followed (payouts/daily.py)."""

    merchant = models.OneToOneField(
        "merchants.Merchant", models.PROTECT, primary_key=True, related_name="payout_look"
    )
    # The merchant's local date.
    day = models.DateField()

    objects = MerchantManager()

    def __str__(self) -> str:
        return f"{self.merchant_id} {self.day}"
