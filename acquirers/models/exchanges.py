"""Exchanges with banks, of which a trace is kept: never the message, but how it went."""

from django.db import models
from django.db.models import Q

from core.fields import CodeField, JSONField
from core.querysets import MerchantManager


class BankExchange(models.Model):
    """One request to a bank about an attempt, and how the bank answered; never changed.

    The evidence of a case, and the source of the numbers that a void or a refund needs. An
    authorisation that was answered at once has no row: the attempt's columns say the same.
    """

    class Operation(models.TextChoices):
        AUTHORIZATION_INQUIRY = "authorization_inquiry"
        CAPTURE = "capture"
        VOID = "void"
        REVERSAL = "reversal"
        MODIFICATION_INQUIRY = "modification_inquiry"
        REFUND = "refund"
        REFUND_INQUIRY = "refund_inquiry"
        EVIDENCE = "evidence"
        ACCEPTANCE = "acceptance"
        AUDIT_INQUIRY = "audit_inquiry"

    merchant = models.ForeignKey(
        "merchants.Merchant", models.PROTECT, related_name="+", db_index=False
    )
    attempt = models.ForeignKey(
        "intents.Attempt", models.PROTECT, related_name="exchanges", db_constraint=False
    )
    operation = models.CharField(max_length=24, choices=Operation)
    # The id of the row that asked for it, if there is one.
    operation_id = CodeField(max_length=40, null=True)
    # The request or the job that asked the bank.
    request_id = CodeField(max_length=40)
    sent_at = models.DateTimeField()  # Real time.
    milliseconds = models.IntegerField()
    # In our words (`acquirers.outcomes.Answer`), and in the bank's.
    answer = models.CharField(max_length=24)
    bank_code = models.CharField(max_length=40, null=True)
    bank_text = models.CharField(max_length=200, null=True)
    numbers = JSONField(default=dict)

    objects = MerchantManager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(milliseconds__gte=0), name="an_exchange_takes_no_negative_time"
            ),
        ]

    def __str__(self) -> str:
        code = f", code {self.bank_code}" if self.bank_code else ""
        return f"{self.sent_at:%Y-%m-%d %H:%M:%S} {self.operation}: {self.answer}{code}"
