"""Daily runs as rows: written before the work begins, so that one that was killed is seen."""

from django.db import models
from django.db.models import F, Q

from core.fields import JSONField


class DailyRun(models.Model):
    """One run of one daily job about one day of the bank's."""

    class Job(models.TextChoices):
        """In the order in which they run."""

        SETTLEMENT = "settlement"
        PAYOUTS = "payouts"
        RECONCILE = "reconcile"
        AUDIT = "audit"

    class Status(models.TextChoices):
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"
        KILLED = "killed"  # It did not say how it ended, and another one took its place.

    job = models.CharField(max_length=10, choices=Job)
    # The last day that it is about.
    day = models.DateField()
    # The try, from 1; null for a run that a person began.
    number = models.IntegerField(null=True)
    status = models.CharField(max_length=7, choices=Status, default=Status.RUNNING)
    # In real time.
    begun_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    # Numbers of rows that the run looked at and moved, by name.
    counts = JSONField(default=dict)
    # Differences that a person has to look into.
    findings = models.IntegerField(default=0)
    # The class of the error alone: its text may hold anything.
    failure = models.CharField(max_length=100, null=True)
    # The first and the last day whose files it left out, for it had missed too many, skipped
    # them, or could not read them whole; narrowed down as a person reads them, and null once all
    # are read.
    left_out_from = models.DateField(null=True)
    left_out_until = models.DateField(null=True)

    class Meta:
        indexes = [models.Index(fields=["job", "-day"], name="daily_runs_by_day")]
        constraints = [
            models.UniqueConstraint(
                fields=["job", "day", "number"], name="a_days_tries_of_a_job_are_numbered"
            ),
            models.CheckConstraint(
                condition=Q(status="running", ended_at__isnull=True)
                | (~Q(status="running") & Q(ended_at__isnull=False)),
                name="a_daily_run_is_running_or_ended",
            ),
            models.CheckConstraint(
                condition=Q(left_out_from=None, left_out_until=None)
                | Q(left_out_from__lte=F("left_out_until")),
                name="a_daily_run_left_out_days_in_order",
            ),
            models.CheckConstraint(
                condition=Q(status="failed", failure__isnull=False)
                | (~Q(status="failed") & Q(failure__isnull=True)),
                name="a_failed_daily_run_says_why",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.job} of {self.day}"


class DayDigest(models.Model):
    """One day's rows of the ledger or of events, as one keyed hash: a link of a chain.

    Written by `audit.daily.digests` alone, and never changed. Rows of a day may be pruned; its
    digest stays.
    """

    class Book(models.TextChoices):
        LEDGER = "ledger"
        EVENTS = "events"

    book = models.CharField(max_length=6, choices=Book)
    day = models.DateField()
    # From 1 without gaps.
    sequence = models.IntegerField()
    row_count = models.BigIntegerField()
    # Of the rows, in the order of their keys.
    rows_hash = models.BinaryField(max_length=32)
    # Of all columns and the hash of the day before.
    hash = models.BinaryField(max_length=32)
    # Real time.
    made_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["book", "day"], name="a_day_of_a_book_has_one_digest"),
            models.UniqueConstraint(
                fields=["book", "sequence"], name="digests_of_a_book_are_numbered"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.book} {self.day}"
