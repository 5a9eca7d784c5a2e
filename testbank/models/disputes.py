"""Disputes of cardholders, the evidence against them, and the money that they took."""

from django.db import models
from django.db.models import Q

from core.fields import CodeField
from testbank.models.authorizations import Authorization
from testbank.states import DisputeState, EvidenceVerdict


class Dispute(models.Model):
    """One complaint of a cardholder: an inquiry, or a dispute about money, in minor units.

    The money moves when a dispute is lost, and comes back if it is regained.
    """

    # The bank's own name for it.
    reference = CodeField(max_length=20, unique=True)
    authorization = models.ForeignKey(Authorization, models.PROTECT, related_name="disputes")
    amount = models.BigIntegerField()
    # The state that it opens in: as an inquiry, or as a dispute.
    opens_as = models.CharField(max_length=16, choices=DisputeState)
    state = models.CharField(max_length=16, choices=DisputeState)
    reason = models.CharField(max_length=32)
    network_reason_code = models.CharField(max_length=16)
    # By the evidence that was handed in; empty: a person decides.
    verdict = models.CharField(max_length=8, choices=EvidenceVerdict, blank=True)
    created_at = models.DateTimeField()
    # Until then evidence is taken; null before it opens.
    evidence_due_by = models.DateTimeField(null=True)
    # When the bank goes on by itself: it opens, is decided, or its time is over.
    due_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["due_at"],
                condition=Q(due_at__isnull=False),
                name="bank_disputes_that_are_due",
            ),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(amount__gte=1),
                name="bank_disputes_at_least_one_minor_unit",
            ),
            models.CheckConstraint(
                condition=Q(reference__regex="^[0-9A-Z]{20}$") & ~Q(reference__regex="[0-9]{13}"),
                name="bank_names_disputes_by_20_letters_and_digits",
            ),
            models.CheckConstraint(
                condition=Q(due_at=None)
                | Q(state__in=[DisputeState.TO_COME, DisputeState.INQUIRY, DisputeState.OPEN]),
                name="bank_decides_only_about_open_disputes",
            ),
            models.CheckConstraint(
                condition=Q(evidence_due_by__isnull=False)
                | Q(state__in=[DisputeState.TO_COME, DisputeState.DROPPED]),
                name="bank_says_until_when_it_takes_evidence",
            ),
        ]

    def __str__(self) -> str:
        return self.reference


class Evidence(models.Model):
    """One submission of evidence: that it came and where it leads, and nothing of its texts."""

    dispute = models.ForeignKey(Dispute, models.PROTECT, related_name="submissions")
    # As the service counts its submissions.
    number = models.IntegerField()
    names = models.CharField(max_length=1000, help_text="The texts that were handed in.")
    verdict = models.CharField(max_length=8, choices=EvidenceVerdict, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["dispute", "number"], name="bank_takes_a_submission_once"
            ),
            models.CheckConstraint(
                condition=Q(number__gte=1), name="bank_counts_submissions_from_one"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.dispute_id}: {self.number}"


class Chargeback(models.Model):
    """Money that a lost dispute gave back to the cardholder, in minor units."""

    dispute = models.OneToOneField(Dispute, models.PROTECT, related_name="chargeback")
    amount = models.BigIntegerField()
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(amount__gte=1),
                name="bank_charges_back_at_least_one_minor_unit",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.dispute_id}: {self.amount}"


class Recovery(models.Model):
    """Money of a lost dispute that came back to the merchant, in minor units."""

    dispute = models.OneToOneField(Dispute, models.PROTECT, related_name="recovery")
    amount = models.BigIntegerField()
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(amount__gte=1),
                name="bank_recovers_at_least_one_minor_unit",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.dispute_id}: {self.amount}"
