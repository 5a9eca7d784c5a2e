"""Cases as rows, with their notes and their history, which are only ever added to."""

from django.db import models
from django.db.models import Q

from cases.states import DECIDABLE, Act, CaseDecision, CaseKind, CaseStatus
from core.fields import CodeField, id_field
from core.querysets import MerchantManager
from merchants.models import Merchant, User


class Case(models.Model):
    """A question about one attempt that no machine can answer; a person decides, or the bank."""

    id = id_field()
    merchant = models.ForeignKey(Merchant, models.PROTECT, related_name="+", db_index=False)
    # Of higher rooms, so they are named by their labels.
    intent = models.ForeignKey(
        "intents.PaymentIntent", models.PROTECT, related_name="+", db_constraint=False
    )
    attempt = models.ForeignKey(
        "intents.Attempt", models.PROTECT, related_name="cases", db_constraint=False
    )
    kind = models.CharField(max_length=24, choices=CaseKind)
    status = models.CharField(max_length=8, choices=CaseStatus, default=CaseStatus.OPEN)
    # The capture, release or refund that it is about; null if it is the authorisation.
    operation_id = CodeField(max_length=40, null=True)
    # Of the attempt, in minor units, surcharge included: lists are sorted by it.
    amount = models.BigIntegerField()
    currency = models.CharField(max_length=3)
    # A sentence of the audit's, or of what has reopened it.
    finding = models.TextField(null=True)
    owner = models.ForeignKey(User, models.PROTECT, null=True, related_name="+", db_index=False)
    # The last word of a person; it stays with a case that was reopened.
    decision = models.CharField(max_length=12, choices=CaseDecision, null=True)
    reason = models.TextField(null=True)
    decided_by = models.ForeignKey(
        User, models.PROTECT, null=True, related_name="+", db_index=False
    )
    decided_at = models.DateTimeField(null=True)
    opened_at = models.DateTimeField()
    resolved_at = models.DateTimeField(null=True)
    # One more with each decision, settlement and reopening: a page tells by it that it is stale.
    version = models.IntegerField(default=1)

    objects = MerchantManager()

    class Meta:
        permissions = [("resolve_case", "Can decide cases, take them on and note on them")]
        indexes = [
            models.Index(
                fields=["kind", "opened_at", "id"],
                condition=Q(status=CaseStatus.OPEN),
                name="open_cases_by_age",
            ),
            models.Index(fields=["opened_at", "id"], name="cases_by_age"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["merchant", "id"], name="a_case_has_one_merchant"),
            models.UniqueConstraint(
                fields=["attempt", "kind", "merchant"],
                condition=Q(status=CaseStatus.OPEN),
                name="one_open_case_per_attempt_and_kind",
            ),
            models.CheckConstraint(
                condition=Q(status=CaseStatus.OPEN, resolved_at__isnull=True)
                | Q(status=CaseStatus.RESOLVED, resolved_at__isnull=False),
                name="a_case_is_open_or_resolved",
            ),
            models.CheckConstraint(
                condition=Q(
                    decision__isnull=True,
                    reason__isnull=True,
                    decided_by__isnull=True,
                    decided_at__isnull=True,
                )
                | Q(
                    decision__isnull=False,
                    reason__isnull=False,
                    decided_by__isnull=False,
                    decided_at__isnull=False,
                ),
                name="a_decision_has_a_person_and_a_reason",
            ),
        ]

    def __str__(self) -> str:
        return self.id

    @property
    def is_open(self) -> bool:
        return self.status == CaseStatus.OPEN

    @property
    def awaits_decision(self) -> bool:
        """Return whether a person may say what the bank does not."""
        return self.is_open and self.kind in DECIDABLE and self.decision is None


class CaseNote(models.Model):
    """A note of an operator about a case; never changed."""

    merchant = models.ForeignKey(Merchant, models.PROTECT, related_name="+", db_index=False)
    case = models.ForeignKey(Case, models.PROTECT, related_name="notes", db_constraint=False)
    author = models.ForeignKey(User, models.PROTECT, related_name="+", db_index=False)
    text = models.TextField()
    created_at = models.DateTimeField()

    objects = MerchantManager()

    def __str__(self) -> str:
        return f"{self.case_id}: {self.text[:40]}"


class CaseChange(models.Model):
    """One step of a case's history; never changed."""

    merchant = models.ForeignKey(Merchant, models.PROTECT, related_name="+", db_index=False)
    case = models.ForeignKey(Case, models.PROTECT, related_name="changes", db_constraint=False)
    act = models.CharField(max_length=10, choices=Act)
    # Null for the service itself, which has heard the bank.
    by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+", db_index=False)
    told = models.TextField(null=True)
    # The request or the job that did it.
    request_id = CodeField(max_length=40)
    created_at = models.DateTimeField()

    objects = MerchantManager()

    def __str__(self) -> str:
        return f"{self.case_id}: {self.act}"


class TakenWork(models.Model):
    """A piece of operators' work that a person has taken on; a case has its owner instead.

    Nothing but `cases.work` writes it.
    """

    id = id_field()
    # A name in `panel.operators.work_kinds`, and the piece's own name in its kind.
    kind = CodeField(max_length=20)
    subject = CodeField(max_length=80)
    by = models.ForeignKey(User, models.PROTECT, related_name="+", db_index=False)
    # In the movable clock.
    taken_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["kind", "subject"], name="a_piece_of_work_has_one_person"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.subject}"
