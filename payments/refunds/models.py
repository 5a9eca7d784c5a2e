"""Refunds as rows, with the constraints and indexes that guard and find them."""

from django.db import models
from django.db.models import Q

from acquirers.conversation.models import InDoubt
from acquirers.gateway import SoughtRefund
from core.fields import CodeField, JSONField, id_field
from core.querysets import MerchantManager
from payments.intents.models import Attempt, PaymentIntent
from payments.intents.states import NextStep
from payments.refunds.states import FailureReason, Method, PendingReason, RefundStatus

WAITING = Q(status=RefundStatus.PENDING, pending_reason=PendingReason.INSUFFICIENT_FUNDS)


class Refund(InDoubt):
    """Captured money that goes back to the card (contract-money, Refund).

    The row exists before the bank is asked. It is in the ledger unless it waits for funds, and
    until it has failed or is canceled.
    """

    read_with = ("attempt__terminal",)
    # In memory alone: written down it would outlive the process that does it.
    next_step = NextStep.ASK
    sought: SoughtRefund | None = None

    id = id_field()
    merchant = models.ForeignKey(
        "merchants.Merchant", models.PROTECT, related_name="+", db_index=False
    )
    intent = models.ForeignKey(
        PaymentIntent,
        models.PROTECT,
        related_name="refunds",
        db_constraint=False,
        db_index=False,
    )
    attempt = models.ForeignKey(
        Attempt, models.PROTECT, related_name="refunds", db_constraint=False, db_index=False
    )
    # Ours, sent to the bank with the refund; a void goes by the attempt's.
    acquirer_reference = CodeField(max_length=40, unique=True)
    # In minor units, surcharge included.
    amount = models.BigIntegerField()
    currency = models.CharField(max_length=3)
    status = models.CharField(max_length=9, choices=RefundStatus, default=RefundStatus.PENDING)
    method = models.CharField(max_length=6, choices=Method)
    pending_reason = models.CharField(max_length=18, choices=PendingReason, null=True)
    failure_reason = models.CharField(max_length=34, choices=FailureReason, null=True)
    reason = models.CharField(max_length=21, null=True)
    description = models.CharField(max_length=1000, null=True)
    metadata = JSONField(default=dict)
    # The bank's number, by which the cardholder finds the money.
    reference = models.CharField(max_length=80, null=True)
    # All of the bank's numbers of it, by the names that its adapter gives them.
    bank_numbers = JSONField(null=True)
    # When it may first have left for the bank; null while nothing certainly has, or the bank has
    # refused it until the end of its day.
    sent_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField()

    objects = MerchantManager()

    class Meta(InDoubt.Meta):
        indexes = [
            *InDoubt.Meta.indexes,
            # One for each order and each filter, in the order of the list.
            models.Index(fields=["merchant", "created_at", "id"], name="refunds_of_a_merchant"),
            models.Index(fields=["merchant", "amount", "id"], name="refunds_by_amount"),
            models.Index(
                fields=["merchant", "status", "created_at", "id"], name="refunds_by_status"
            ),
            models.Index(
                fields=["merchant", "method", "created_at", "id"], name="refunds_by_method"
            ),
            models.Index(
                fields=["merchant", "intent", "created_at", "id"], name="refunds_of_a_payment"
            ),
            models.Index(
                fields=["merchant", "currency", "created_at", "id"],
                condition=WAITING,
                name="refunds_that_wait_for_funds",
            ),
        ]
        constraints = [
            models.CheckConstraint(condition=Q(amount__gte=1), name="a_refund_is_at_least_one"),
            models.CheckConstraint(
                condition=Q(
                    status=RefundStatus.PENDING,
                    pending_reason__isnull=False,
                    closed_at__isnull=True,
                )
                # Due again after its end is one that a person decided, or that an inquiry found.
                | (
                    ~Q(status=RefundStatus.PENDING)
                    & Q(pending_reason=None, closed_at__isnull=False)
                ),
                name="a_refund_is_pending_or_closed",
            ),
            models.CheckConstraint(
                condition=Q(status=RefundStatus.FAILED, failure_reason__isnull=False)
                | (~Q(status=RefundStatus.FAILED) & Q(failure_reason__isnull=True)),
                name="a_failed_refund_says_why",
            ),
            models.CheckConstraint(
                condition=~WAITING | Q(method=Method.REFUND, sent_at__isnull=True),
                name="a_refund_that_waits_for_funds_has_not_left",
            ),
            models.CheckConstraint(
                condition=~Q(status=RefundStatus.CANCELED) | Q(sent_at__isnull=True),
                name="a_canceled_refund_has_not_left",
            ),
            models.CheckConstraint(
                condition=~Q(status=RefundStatus.SUCCEEDED) | Q(sent_at__isnull=False),
                name="a_succeeded_refund_has_left",
            ),
        ]

    def __str__(self) -> str:
        return self.id

    @property
    def is_waiting(self) -> bool:
        """Return whether it waits for the merchant's funds: then it is not in the ledger."""
        return self.pending_reason == PendingReason.INSUFFICIENT_FUNDS

    @property
    def waits_for_the_day(self) -> bool:
        """Return whether the bank has refused it until the end of its day."""
        return self.pending_reason == PendingReason.BANK_DAY_OPEN
