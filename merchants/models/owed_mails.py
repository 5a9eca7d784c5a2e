from django.db import models

from core.fields import CodeField, JSONField
from core.querysets import MerchantManager
from merchants.models.merchant import Merchant


class OwedMail(models.Model):
    """A notice that a merchant's addresses get once it is due; deleted when all have it.

    Nothing but `merchants.owed_mails` writes it.
    """

    pk = models.CompositePrimaryKey("merchant_id", "kind", "subject")
    merchant = models.ForeignKey(Merchant, models.PROTECT, related_name="+", db_index=False)
    # One of `merchants.notices.MailKind`, and the id of the thing that it is about.
    kind = CodeField(max_length=32)
    subject = CodeField(max_length=40)
    # In the movable clock.
    due_at = models.DateTimeField()
    # A process that takes it has it for so long, in real time.
    leased_until = models.DateTimeField(null=True)
    # Addresses that have it already, where the mail server did not take it for all.
    sent_to = JSONField(default=list)

    objects = MerchantManager()

    class Meta:
        indexes = [models.Index(fields=["due_at"], name="owed_mails_by_due_date")]

    def __str__(self) -> str:
        return f"{self.kind} {self.subject}"
