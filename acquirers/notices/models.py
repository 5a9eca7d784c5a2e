"""Notices and the inboxes that they come into, one for each terminal."""

from django.db import models
from django.db.models import Q

from acquirers.models import Terminal
from core.fields import CodeField


class Notice(models.Model):
    """A notice of a bank, as it came; it is applied at most once.

    The bank numbers its notices in the order of its commits. Nothing but the columns of its
    application changes (migration 0002).
    """

    terminal = models.ForeignKey(Terminal, models.PROTECT, related_name="+", db_index=False)
    number = models.BigIntegerField()
    # A word of `acquirers.noticed.NoticeKind`, or another that no handler knows yet.
    kind = models.CharField(max_length=40)
    # Ours, of the order; ours of the refund; the bank's own of the dispute.
    reference = CodeField(max_length=40)
    refund_reference = CodeField(max_length=40, null=True)
    dispute = CodeField(max_length=40, null=True)
    # The object that it is about: notices of one object are applied in order of their numbers.
    about = CodeField(max_length=40)
    amount = models.BigIntegerField(null=True)  # Minor units.
    currency = models.CharField(max_length=3)
    reason = models.CharField(max_length=40, null=True)
    network_reason_code = models.CharField(max_length=40, null=True)
    due_by = models.DateTimeField(null=True)
    at = models.DateTimeField()  # By the bank's clock.
    stored_at = models.DateTimeField()

    applied_at = models.DateTimeField(null=True)
    next_try_at = models.DateTimeField(null=True)
    tries = models.IntegerField(default=0)
    # The class of the last error alone: its text may hold anything.
    last_error = models.CharField(max_length=100, null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["terminal", "number"], name="a_terminals_notices_are_numbered"
            ),
            models.CheckConstraint(
                condition=Q(applied_at__isnull=True, next_try_at__isnull=False)
                | Q(applied_at__isnull=False, next_try_at__isnull=True),
                name="a_notice_is_applied_or_tried_again",
            ),
        ]
        indexes = [
            models.Index(
                fields=["next_try_at"],
                condition=Q(applied_at__isnull=True),
                name="notices_to_be_tried",
            ),
            models.Index(
                fields=["terminal", "about", "number"],
                condition=Q(applied_at__isnull=True),
                name="notices_that_wait_of_an_object",
            ),
            models.Index(fields=["reference"], name="notices_of_an_order"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} #{self.number} of {self.about}"


class Inbox(models.Model):
    """The state of polling one terminal's bank; no notice is lost without it."""

    terminal = models.OneToOneField(Terminal, models.PROTECT, primary_key=True, related_name="+")
    # All in real time, as the waits for a bank are.
    polled_at = models.DateTimeField(null=True)
    # Until then other pollers leave the terminal alone.
    held_until = models.DateTimeField(null=True)
    # The failures in a row.
    failures = models.IntegerField(default=0)

    class Meta:
        verbose_name_plural = "inboxes"

    def __str__(self) -> str:
        return f"inbox of {self.terminal_id}"
