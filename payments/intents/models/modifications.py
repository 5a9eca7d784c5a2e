"""Modifications as rows: captures, voids and reversals, with the constraints that guard them."""

from django.db import models
from django.db.models import Q

from acquirers.conversation.models import InDoubt
from acquirers.outcomes import Answer
from core.fields import CodeField, id_field
from core.querysets import MerchantManager
from payments.intents.models.attempts import Attempt
from payments.intents.states import ModificationKind, ModificationStatus, NextStep


class Modification(InDoubt):
    """One thing that the bank is asked to do with an authorised attempt.

    The row exists before the bank is asked, and stays as history. A payment that is created and
    confirmed in one call has none.
    """

    read_with = ("attempt__terminal",)
    # In memory alone: written down it would outlive the process that does it.
    next_step = NextStep.ASK

    id = id_field()
    merchant = models.ForeignKey(
        "merchants.Merchant", models.PROTECT, related_name="+", db_index=False
    )
    attempt = models.ForeignKey(
        Attempt, models.PROTECT, related_name="modifications", db_constraint=False
    )
    kind = models.CharField(max_length=8, choices=ModificationKind)
    status = models.CharField(
        max_length=10, choices=ModificationStatus, default=ModificationStatus.PROCESSING
    )
    # Of a capture, in minor units.
    amount = models.BigIntegerField(null=True)
    # Of a void: the canceled payment shows it once the bank has released the money.
    reason = models.CharField(max_length=30, null=True)
    # Of a reversal that came after the bank's day: it goes on as a refund under this reference.
    refund_reference = CodeField(max_length=40, null=True, unique=True)
    # When that may first have left for the bank; null while it certainly has not.
    refund_sent_at = models.DateTimeField(null=True)
    # Of a reversal whose money the cardholder disputes: it goes back as the bank's dispute is
    # accepted, which is the bank's own name for it. Null again once the bank has decided for us.
    dispute_reference = CodeField(max_length=40, null=True)
    # The answer that ended it, as `acquirers.outcomes.Answer` names it.
    answer = models.CharField(max_length=24, null=True)
    created_at = models.DateTimeField()

    objects = MerchantManager()

    class Meta(InDoubt.Meta):
        indexes = [
            *InDoubt.Meta.indexes,
            # The bank's file names a chargeback by it.
            models.Index(
                fields=["dispute_reference"],
                condition=Q(dispute_reference__isnull=False),
                name="reversals_by_dispute",
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["attempt", "merchant"],
                condition=Q(status=ModificationStatus.PROCESSING),
                name="one_open_modification_per_attempt",
            ),
            models.CheckConstraint(
                condition=Q(kind=ModificationKind.CAPTURE, amount__isnull=False, amount__gte=1)
                | (~Q(kind=ModificationKind.CAPTURE) & Q(amount__isnull=True)),
                name="a_capture_has_an_amount",
            ),
            models.CheckConstraint(
                condition=Q(refund_reference__isnull=True, refund_sent_at__isnull=True)
                | Q(kind=ModificationKind.REVERSE, refund_reference__isnull=False),
                name="a_reversal_alone_becomes_a_refund",
            ),
            models.CheckConstraint(
                condition=Q(dispute_reference__isnull=True) | Q(kind=ModificationKind.REVERSE),
                name="a_reversal_alone_goes_back_by_a_dispute",
            ),
            models.CheckConstraint(
                condition=Q(
                    status=ModificationStatus.PROCESSING,
                    closed_at__isnull=True,
                    answer__isnull=True,
                )
                # Due again after its end is one that the bank may still contradict.
                | (
                    ~Q(status=ModificationStatus.PROCESSING)
                    & Q(closed_at__isnull=False, answer__isnull=False)
                ),
                name="a_modification_is_open_or_closed",
            ),
        ]

    def ended_with(self, *answers: Answer) -> bool:
        """Return whether one of these answers has ended it."""
        return self.answer in [answer.value for answer in answers]

    def __str__(self) -> str:
        return self.id
