"""Disputes and what is owed to their banks, as rows, with the constraints that guard them."""

from django.db import models
from django.db.models import Q

from acquirers.conversation.models import InDoubt
from core.fields import CodeField, JSONField, id_field
from core.querysets import MerchantManager
from payments.disputes.states import (
    CLOSED,
    CLOSES,
    ENDED_BY_DUE_DATE,
    DeliveryKind,
    DeliveryStatus,
    DisputeStatus,
    Reason,
)
from payments.intents.models import Attempt, PaymentIntent


class Dispute(models.Model):
    """A cardholder's complaint at the bank about a payment (contract-money, Dispute).

    The bank opens and decides it. An inquiry, whose status begins with `warning_`, takes no money.
    """

    id = id_field()
    merchant = models.ForeignKey(
        "merchants.Merchant", models.PROTECT, related_name="+", db_index=False
    )
    intent = models.ForeignKey(
        PaymentIntent,
        models.PROTECT,
        related_name="disputes",
        db_constraint=False,
        db_index=False,
    )
    attempt = models.ForeignKey(
        Attempt, models.PROTECT, related_name="disputes", db_constraint=False, db_index=False
    )
    # The bank's own id of it.
    bank_reference = CodeField(max_length=40)
    # In minor units, surcharge included; it may be a part of the payment.
    amount = models.BigIntegerField()
    currency = models.CharField(max_length=3)
    status = models.CharField(max_length=22, choices=DisputeStatus)
    reason = models.CharField(max_length=24, choices=Reason)
    network_reason_code = models.CharField(max_length=40, null=True)
    # Only the keys that were given, of `evidence.KEYS`.
    evidence = JSONField(default=dict)
    evidence_due_by = models.DateTimeField()
    submission_count = models.SmallIntegerField(default=0)
    # The due date had passed without a submission when the dispute ended.
    is_past_due = models.BooleanField(default=False)
    metadata = JSONField(default=dict)
    created_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True)

    objects = MerchantManager()

    class Meta:
        indexes = [
            # One for each order and each filter, in the order of the list.
            models.Index(fields=["merchant", "created_at", "id"], name="disputes_of_a_merchant"),
            models.Index(fields=["merchant", "amount", "id"], name="disputes_by_amount"),
            models.Index(fields=["merchant", "evidence_due_by", "id"], name="disputes_by_due_date"),
            models.Index(
                fields=["merchant", "status", "created_at", "id"], name="disputes_by_status"
            ),
            models.Index(
                fields=["merchant", "reason", "created_at", "id"], name="disputes_by_reason"
            ),
            models.Index(
                fields=["merchant", "intent", "created_at", "id"], name="disputes_of_a_payment"
            ),
            models.Index(
                fields=["evidence_due_by"],
                condition=Q(status__in=ENDED_BY_DUE_DATE),
                name="disputes_that_await_an_answer",
            ),
            # The bank's file names a chargeback by it.
            models.Index(fields=["bank_reference"], name="disputes_by_the_banks_name"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["merchant", "id"], name="a_dispute_has_one_merchant"),
            models.UniqueConstraint(
                fields=["attempt", "bank_reference", "merchant"],
                name="one_dispute_per_attempt_and_banks_id",
            ),
            models.CheckConstraint(condition=Q(amount__gte=1), name="a_dispute_is_about_money"),
            models.CheckConstraint(
                condition=Q(status__in=CLOSED, closed_at__isnull=False)
                | (~Q(status__in=CLOSED) & Q(closed_at__isnull=True)),
                name="a_dispute_is_open_or_closed",
            ),
            models.CheckConstraint(
                condition=~Q(
                    status__in=(DisputeStatus.UNDER_REVIEW, DisputeStatus.WARNING_UNDER_REVIEW)
                )
                | (Q(submission_count__gte=1) & ~Q(evidence={})),
                name="a_dispute_under_review_has_evidence",
            ),
        ]

    def __str__(self) -> str:
        return self.id


class DisputeDelivery(InDoubt):
    """Evidence, an acceptance or an end that is owed to the bank, and sent until it acknowledges.

    The bank takes evidence once per dispute and number, the others once per dispute.
    """

    read_with = ("dispute__attempt__terminal",)

    id = id_field()
    merchant = models.ForeignKey(
        "merchants.Merchant", models.PROTECT, related_name="+", db_index=False
    )
    dispute = models.ForeignKey(
        Dispute, models.PROTECT, related_name="deliveries", db_constraint=False
    )
    kind = models.CharField(max_length=10, choices=DeliveryKind)
    status = models.CharField(max_length=12, choices=DeliveryStatus, default=DeliveryStatus.OWED)
    # Of evidence: the submission's number, from 1, and the texts as they were submitted.
    number = models.SmallIntegerField(null=True)
    evidence = JSONField(null=True)
    # The answer that ended it, as `acquirers.outcomes.Answer` names it.
    answer = models.CharField(max_length=24, null=True)
    created_at = models.DateTimeField()

    objects = MerchantManager()

    class Meta(InDoubt.Meta):
        verbose_name_plural = "dispute deliveries"
        constraints = [
            models.UniqueConstraint(
                fields=["dispute", "number", "merchant"],
                condition=Q(kind=DeliveryKind.EVIDENCE),
                name="evidence_is_submitted_once_per_number",
            ),
            models.UniqueConstraint(
                fields=["dispute", "merchant"],
                condition=Q(kind__in=CLOSES, status=DeliveryStatus.OWED),
                name="one_owed_close_per_dispute",
            ),
            models.CheckConstraint(
                condition=Q(
                    kind=DeliveryKind.EVIDENCE,
                    number__isnull=False,
                    number__gte=1,
                    evidence__isnull=False,
                )
                | Q(kind__in=CLOSES, number__isnull=True, evidence__isnull=True),
                name="a_delivery_is_evidence_or_a_close",
            ),
            models.CheckConstraint(
                condition=Q(status=DeliveryStatus.OWED, closed_at__isnull=True, answer__isnull=True)
                | (
                    ~Q(status=DeliveryStatus.OWED) & Q(closed_at__isnull=False, due_at__isnull=True)
                ),
                name="a_delivery_is_owed_or_closed",
            ),
        ]

    def __str__(self) -> str:
        return self.id
