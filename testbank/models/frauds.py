"""Reports of fraud that the card network makes some time after a charge."""

from django.db import models
from django.db.models import Q

from testbank.models.authorizations import Authorization


class FraudReport(models.Model):
    """A report about one charge; `due_at` is null once the notice is written."""

    authorization = models.OneToOneField(Authorization, models.PROTECT, related_name="fraud_report")
    due_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["due_at"], condition=Q(due_at__isnull=False), name="bank_reports_due"
            ),
        ]

    def __str__(self) -> str:
        return f"fraud of {self.authorization_id}"
