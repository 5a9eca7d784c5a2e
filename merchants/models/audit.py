from django.db import models

from core.context import ActorKind
from core.fields import CodeField, JSONField, id_field
from core.querysets import MerchantManager
from merchants.models.merchant import Merchant


class AuditEntry(models.Model):
    """One change by a person, a key or a command: a link of a chain of keyed hashes.

    Chains are numbered from 1 without gaps: one per merchant, one per user, one for the
    installation. Rows are written by `merchants.audit_log` alone, and never changed (0002).
    """

    id = id_field()
    chain = CodeField(max_length=60)
    sequence = models.BigIntegerField()
    merchant = models.ForeignKey(
        Merchant, models.PROTECT, null=True, related_name="+", db_index=False
    )
    action = CodeField(max_length=40)
    # The object's id; a website's host, a callback's address, a limit's currency.
    subject = models.CharField(max_length=2000)
    # Only what changed, scrubbed.
    before = JSONField(null=True)
    after = JSONField(null=True)
    reason = models.TextField(null=True)
    actor = models.CharField(
        max_length=8, choices=[(kind.value, kind.value.replace("_", " ")) for kind in ActorKind]
    )
    actor_id = CodeField(max_length=100, null=True)
    actor_name = models.CharField(max_length=254, null=True)
    address = models.CharField(max_length=45, null=True)
    request_id = CodeField(max_length=40)
    # Real time: evidence does not move with a sandbox's clock.
    created_at = models.DateTimeField()
    hash = models.BinaryField(max_length=32)

    objects = MerchantManager()

    class Meta:
        verbose_name_plural = "audit entries"
        indexes = [
            # The few that a payment's page shows; subjects of other kinds may be too long for it.
            models.Index(
                fields=["merchant", "subject", "sequence"],
                condition=models.Q(
                    action__in=["payment.captured", "payment.canceled", "payment.noted"]
                ),
                name="audit_entries_of_a_payment",
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["chain", "sequence"], name="one_audit_entry_per_chain_and_sequence"
            ),
            models.CheckConstraint(
                condition=models.Q(sequence__gte=1), name="an_audit_chain_begins_with_one"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.chain} #{self.sequence} {self.action}"


class AuditHead(models.Model):
    """The last link of a chain: a chain that lost its newest rows does not end there."""

    chain = CodeField(max_length=60, primary_key=True)
    sequence = models.BigIntegerField()
    hash = models.BinaryField(max_length=32)

    def __str__(self) -> str:
        return f"{self.chain} #{self.sequence}"


class AuditTally(models.Model):
    """A count of one minute, which a job makes one row of the audit log.

    Written by `merchants.audit_tallies` alone.
    """

    # The minute's beginning, real time.
    minute = models.DateTimeField()
    action = CodeField(max_length=40)
    merchant = models.ForeignKey(
        Merchant, models.PROTECT, null=True, related_name="+", db_index=False
    )
    chain = CodeField(max_length=60)
    # A person's key in their own chain; a word for what has none.
    subject = CodeField(max_length=60)
    # Of the first time within the minute.
    actor = CodeField(max_length=8)
    actor_id = CodeField(max_length=100)
    actor_name = models.CharField(max_length=254)
    address = models.CharField(max_length=45)
    request_id = CodeField(max_length=40)
    count = models.BigIntegerField(default=1)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["minute", "action", "merchant", "subject", "actor_id"],
                nulls_distinct=False,
                name="one_tally_per_minute_action_object_and_actor",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.subject} {self.minute}"
