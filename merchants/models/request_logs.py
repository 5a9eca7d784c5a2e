from django.contrib.postgres.indexes import BrinIndex
from django.db import models

from core.fields import CodeField, id_field
from core.querysets import MerchantManager

# All paths that begin like payments' lie from the one up to the other.
PAYMENTS, BEHIND_PAYMENTS = "/v1/payment_intents", "/v1/payment_intentt"


class RequestLog(models.Model):
    """One request to /v1, or one change by panel or job, as it may be shown (contract 2).

    Bodies are redacted before they come here. Without a key that we know, the request
    belongs to no merchant.
    """

    class Kind(models.TextChoices):
        API = "api"
        JOB = "job"
        # A request of a person in the panel that changed something.
        PANEL = "panel"

    id = id_field()
    merchant = models.ForeignKey(
        "merchants.Merchant", models.PROTECT, null=True, related_name="+", db_index=False
    )
    kind = models.CharField(max_length=5, choices=Kind)
    # Null for a job, whose path is the task's name.
    method = models.CharField(max_length=16, null=True)
    path = CodeField(max_length=500)
    query = models.TextField(null=True)
    status = models.SmallIntegerField(null=True)
    duration_ms = models.IntegerField()
    api_key = models.CharField(max_length=40, null=True)
    idempotency_key = models.CharField(max_length=255, null=True)
    # Of a replay: the request that was answered first.
    original_request = models.CharField(max_length=40, null=True)
    object_id = CodeField(max_length=40, null=True)
    ip = models.CharField(max_length=45, null=True)
    api_version = models.CharField(max_length=10, null=True)
    request_body = models.TextField(null=True)
    response_body = models.TextField(null=True)
    truncated = models.BooleanField(default=False)
    error_code = models.CharField(max_length=60, null=True)
    created_at = models.DateTimeField()

    objects = MerchantManager()

    class Meta:
        indexes = [
            models.Index(fields=["merchant", "created_at", "id"], name="requests_of_a_merchant"),
            models.Index(
                fields=["merchant", "object_id", "created_at"],
                name="requests_about_an_object",
                condition=models.Q(object_id__isnull=False),
            ),
            models.Index(
                fields=["merchant", "api_key", "created_at", "id"],
                name="requests_with_a_key",
                condition=models.Q(api_key__isnull=False),
            ),
            # Of the few that differ from the many: what is usual costs nothing to write.
            models.Index(
                fields=["merchant", "status", "created_at", "id"],
                name="requests_not_answered_by_200",
                condition=models.Q(status__lt=200) | models.Q(status__gt=200),
            ),
            models.Index(
                fields=["merchant", "method", "created_at", "id"],
                name="requests_by_a_rare_method",
                condition=~models.Q(method__in=("GET", "POST")),
            ),
            models.Index(
                fields=["merchant", "path", "created_at", "id"],
                name="requests_apart_from_payments",
                condition=models.Q(path__lt=PAYMENTS) | models.Q(path__gte=BEHIND_PAYMENTS),
            ),
            models.Index(
                fields=["merchant", "kind", "created_at", "id"],
                name="requests_of_panel_and_jobs",
                condition=~models.Q(kind="api"),
            ),
            models.Index(
                fields=["merchant", "error_code", "created_at", "id"],
                name="requests_refused_by_a_code",
                condition=models.Q(error_code__isnull=False),
            ),
            models.Index(
                fields=["merchant", "idempotency_key", "created_at"],
                name="requests_repeated_by_a_key",
                condition=models.Q(idempotency_key__isnull=False),
            ),
            # Rows come in order of time and leave in it.
            BrinIndex(fields=["created_at"], name="requests_by_age"),
        ]

    def __str__(self) -> str:
        return self.id
