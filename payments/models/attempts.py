from django.db import models
from django.db.models import Q

from core.fields import id_field
from core.querysets import MerchantRows
from payments.models.intents import PaymentIntent
from payments.states import OPEN_ATTEMPT, SUCCESSFUL_ATTEMPT, AttemptStatus
from vault.models import SealedCard


class Attempt(models.Model):
    """One try to get the money: the row exists before the bank is called (contract 2, Attempt)."""

    id = id_field()
    merchant = models.ForeignKey(
        "merchants.Merchant", models.PROTECT, related_name="+", db_index=False
    )
    intent = models.ForeignKey(
        PaymentIntent, models.PROTECT, related_name="attempts", db_constraint=False
    )
    status = models.CharField(
        max_length=16, choices=AttemptStatus, default=AttemptStatus.PROCESSING
    )
    # Ours, sent to the bank with everything that concerns this attempt.
    acquirer_reference = models.CharField(max_length=40, unique=True, db_collation="C")
    amount = models.BigIntegerField()
    surcharge = models.BigIntegerField(default=0)
    currency = models.CharField(max_length=3)
    installments = models.SmallIntegerField(default=1)
    capture_method = models.CharField(max_length=9, choices=PaymentIntent.CaptureMethod)
    sealed_card = models.ForeignKey(
        SealedCard, models.PROTECT, related_name="+", db_constraint=False
    )
    card = models.JSONField()
    return_url = models.CharField(max_length=2000, null=True)
    three_d_secure_requested = models.CharField(max_length=9)
    # Known from the start (asked for, or a domestic debit card), or by the bank's soft decline.
    authentication_demanded = models.BooleanField(default=False)
    error = models.JSONField(null=True)
    authorization_code = models.CharField(max_length=40, null=True)
    network_reference = models.CharField(max_length=80, null=True)
    # The request that began it: what the attempt's later events name as their cause.
    request_id = models.CharField(max_length=40)
    created_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True)

    # While the outcome is unknown. The lease is in real time: whoever holds it may ask the bank.
    lease_until = models.DateTimeField(null=True)
    asked_at = models.DateTimeField()
    next_inquiry_at = models.DateTimeField()
    inquiry_count = models.SmallIntegerField(default=0)
    # How often the bank said, long enough after `asked_at`, that it has no record.
    no_record_count = models.SmallIntegerField(default=0)

    objects = MerchantRows.as_manager()

    class Meta:
        indexes = [
            models.Index(
                fields=["next_inquiry_at"],
                condition=Q(status=AttemptStatus.PROCESSING),
                name="attempts_to_inquire",
            ),
        ]
        constraints = [
            models.UniqueConstraint(fields=["merchant", "id"], name="an_attempt_has_one_merchant"),
            models.UniqueConstraint(
                fields=["intent"],
                condition=Q(status__in=(*OPEN_ATTEMPT, *SUCCESSFUL_ATTEMPT)),
                name="one_open_or_successful_attempt_per_payment",
            ),
            models.CheckConstraint(
                condition=Q(amount__gte=1, surcharge__gte=0), name="an_attempt_asks_for_money"
            ),
            models.CheckConstraint(
                condition=Q(status__in=OPEN_ATTEMPT, closed_at__isnull=True)
                | (~Q(status__in=OPEN_ATTEMPT) & Q(closed_at__isnull=False)),
                name="an_attempt_is_open_or_closed",
            ),
        ]

    def __str__(self) -> str:
        return self.id
