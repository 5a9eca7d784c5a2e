"""Endpoints, deliveries to them, and the lanes that keep deliveries in order."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from core.fields import CodeField, JSONField, SealedField, id_field
from core.querysets import MerchantManager


class Endpoint(models.Model):
    """An address that a merchant's events are sent to (spec: WebhookEndpoint)."""

    class Status(models.TextChoices):
        ENABLED = "enabled"
        DISABLED = "disabled"
        FAILING = "failing"

    id = id_field()
    merchant = models.ForeignKey(
        "merchants.Merchant", models.PROTECT, related_name="+", db_index=False
    )
    url = models.CharField(max_length=2000)
    # Event types, or the single element `*`.
    enabled_events = ArrayField(models.CharField(max_length=60))
    status = models.CharField(max_length=8, choices=Status, default=Status.ENABLED)
    description = models.CharField(max_length=1000, null=True)
    metadata = JSONField(default=dict)
    api_version = models.CharField(max_length=10)
    # Set while a replay plans missed events before new ones; nothing is sent meanwhile. 0 =
    # requested; the job replaces it by its own transaction id, the horizon below which events may
    # still be uncommitted.
    replay_xid = models.BigIntegerField(null=True)
    # Events that were missed before this moment are not replayed; null for no such bound.
    replay_since = models.DateTimeField(null=True)
    failures_in_a_row = models.PositiveIntegerField(default=0)
    # Since when it is in trouble: an event's fourth attempt failed, and nothing succeeded since.
    troubled_at = models.DateTimeField(null=True)
    # The trouble that was mailed last: one that comes and goes is mailed once a day.
    trouble_mailed_at = models.DateTimeField(null=True)
    # After a slow answer: until then (real time) the endpoint shares the slots of degraded ones.
    slow_until = models.DateTimeField(null=True)
    # When to try to send the mail about trouble or `failing` (real time); null if no mail is owed.
    mail_due_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField()
    deleted_at = models.DateTimeField(null=True)

    objects = MerchantManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["merchant", "id"], name="an_endpoint_is_found_by_merchant"
            ),
            models.CheckConstraint(
                condition=Q(deleted_at__isnull=True) | Q(status="disabled"),
                name="a_deleted_endpoint_is_disabled",
            ),
            models.CheckConstraint(
                condition=Q(replay_xid__isnull=True) | Q(status="enabled"),
                name="only_an_enabled_endpoint_replays",
            ),
        ]
        indexes = [
            models.Index(
                fields=["merchant"], condition=Q(deleted_at=None), name="live_endpoints_of_merchant"
            ),
            models.Index(fields=["merchant", "created_at", "id"], name="endpoints_of_a_merchant"),
            # Senders search this index every second; deleted endpoints are not in it.
            models.Index(
                fields=["id"],
                condition=Q(status__in=["enabled", "failing"]),
                name="endpoints_in_use",
            ),
            models.Index(
                fields=["id"], condition=Q(replay_xid__isnull=False), name="replaying_endpoints"
            ),
            models.Index(
                fields=["mail_due_at"],
                condition=Q(mail_due_at__isnull=False),
                name="endpoints_whose_mail_is_owed",
            ),
        ]

    def __str__(self) -> str:
        return self.url


class SigningSecret(models.Model):
    """A secret that signs an endpoint's deliveries; after a roll it signs on until it expires."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    merchant = models.ForeignKey(
        "merchants.Merchant", models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    endpoint = models.ForeignKey(
        Endpoint, models.CASCADE, related_name="secrets", db_constraint=False
    )
    sealed = SealedField()
    created_at = models.DateTimeField()
    # Null for the current one.
    expires_at = models.DateTimeField(null=True)

    objects = MerchantManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["endpoint", "merchant"],
                condition=Q(expires_at=None),
                name="an_endpoint_has_one_current_secret",
            ),
        ]
        indexes = [
            models.Index(
                fields=["expires_at"],
                condition=Q(expires_at__isnull=False),
                name="secrets_that_expire",
            ),
        ]

    @property
    def seal_context(self) -> str:
        """Return the context of the seal: the secret opens as this row of this endpoint only."""
        return f"webhooks.secret|{self.endpoint_id}|{self.id}"


# In the order of their index's condition.
UNSUCCESSFUL = ["failed", "canceled"]


class Delivery(models.Model):
    """One attempt to deliver one event to one endpoint, made or to come (contract 2).

    The attempt to come is a `pending` row. A row that was canceled, or that failed as the last of
    ten, `is_missed` until a replay sends its event again.
    """

    class Status(models.TextChoices):
        PENDING = "pending"
        SUCCEEDED = "succeeded"
        FAILED = "failed"
        CANCELED = "canceled"

    class Trigger(models.TextChoices):
        AUTOMATIC = "automatic"
        RESEND = "resend"
        REPLAY = "replay"

    id = id_field()
    merchant = models.ForeignKey(
        "merchants.Merchant", models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    endpoint = models.ForeignKey(
        Endpoint, models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    event = models.ForeignKey(
        "events.Event", models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    event_type = models.CharField(max_length=60)
    url = models.CharField(max_length=2000)
    # The key of its lane: the changed object's id, or for a resend its own id.
    lane_key = CodeField(max_length=40)
    aggregate_id = CodeField(max_length=40)
    sequence = models.PositiveIntegerField()
    trigger = models.CharField(max_length=9, choices=Trigger, default=Trigger.AUTOMATIC)
    status = models.CharField(max_length=9, choices=Status, default=Status.PENDING)
    is_missed = models.BooleanField(default=False)
    attempt = models.PositiveSmallIntegerField(default=1)
    delay_seconds = models.PositiveIntegerField(default=0)
    scheduled_at = models.DateTimeField()
    attempted_at = models.DateTimeField(null=True)
    next_attempt_at = models.DateTimeField(null=True)
    duration_ms = models.PositiveIntegerField(null=True)
    response_status = models.PositiveSmallIntegerField(null=True)
    response_excerpt = models.CharField(max_length=512, null=True)
    error = models.CharField(max_length=20, null=True)
    created_at = models.DateTimeField()

    objects = MerchantManager()

    class Meta:
        constraints = [
            # A claim finds a lane's first delivery by this index: the lowest pending sequence.
            models.UniqueConstraint(
                fields=["endpoint", "lane_key", "sequence", "merchant"],
                condition=Q(status="pending"),
                name="one_pending_attempt_per_event_in_a_lane",
            ),
            models.CheckConstraint(
                condition=Q(attempt__gte=1, attempt__lte=10), name="attempts_are_counted_to_ten"
            ),
            models.CheckConstraint(
                condition=Q(is_missed=False) | Q(status__in=["canceled", "failed"]),
                name="only_what_is_over_was_missed",
            ),
        ]
        indexes = [
            models.Index(fields=["endpoint", "id"], name="deliveries_of_an_endpoint"),
            models.Index(fields=["event", "id"], name="deliveries_of_an_event"),
            # Of the few that differ from the many: what is usual costs nothing to write.
            models.Index(
                fields=["endpoint", "status", "id"],
                condition=Q(status__in=UNSUCCESSFUL),
                name="deliveries_without_success",
            ),
            models.Index(
                fields=["endpoint", "trigger", "id"],
                condition=~Q(trigger="automatic"),
                name="deliveries_asked_for",
            ),
            models.Index(
                fields=["endpoint", "lane_key", "sequence"],
                condition=Q(is_missed=True),
                name="missed_deliveries",
            ),
            # Retention walks this index from the oldest on; pending and missed ones are not in it.
            models.Index(
                fields=["id"],
                condition=Q(is_missed=False) & ~Q(status="pending"),
                name="deliveries_that_are_over",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.event_type} {self.aggregate_id} #{self.sequence}, attempt {self.attempt}"


class Lane(models.Model):
    """The pending deliveries of one object to one endpoint, which go one after the other.

    A lane exists while one of them is pending. The process that has its lease sends the one with
    the lowest sequence.
    """

    merchant = models.ForeignKey(
        "merchants.Merchant", models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    endpoint = models.ForeignKey(
        Endpoint, models.CASCADE, related_name="+", db_index=False, db_constraint=False
    )
    key = CodeField(max_length=40)
    open_count = models.PositiveIntegerField()
    is_resend = models.BooleanField(default=False)
    # In the movable clock: when the head may be sent.
    due_at = models.DateTimeField()
    # In real time; the lease of a process that crashed ends by itself.
    leased_until = models.DateTimeField(null=True)
    # Changes with each claim, so that a process whose lease has ended writes no answer.
    lease_id = models.UUIDField(null=True)

    objects = MerchantManager()

    class Meta:
        constraints = [
            # Searches find lanes by its first two columns.
            models.UniqueConstraint(
                fields=["endpoint", "key", "merchant"], name="one_lane_per_endpoint_and_object"
            ),
            models.CheckConstraint(
                condition=Q(open_count__gte=1), name="a_lane_exists_while_something_is_open"
            ),
            models.CheckConstraint(
                condition=Q(leased_until=None, lease_id=None)
                | Q(leased_until__isnull=False, lease_id__isnull=False),
                name="a_lease_has_an_end",
            ),
        ]
        indexes = [
            models.Index(fields=["endpoint", "due_at"], name="due_lanes_of_an_endpoint"),
            models.Index(
                fields=["leased_until"],
                condition=Q(leased_until__isnull=False),
                name="leased_lanes",
            ),
        ]
