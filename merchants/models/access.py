from django.db import models

from core.fields import CodeField, JSONField, SealedField, id_field
from core.keyring.purposes import MARKED_BYTES
from core.querysets import MerchantManager
from merchants.models.merchant import Merchant
from merchants.models.people import User


class ApiKey(models.Model):
    """A secret key: kept as a keyed hash, shown once (contract 5)."""

    id = id_field()
    merchant = models.ForeignKey(Merchant, models.CASCADE, related_name="api_keys")
    name = models.CharField(max_length=100)
    hash = models.BinaryField(unique=True, max_length=32, editable=False)
    # The name of the key ring's key that made the hash.
    hashed_with = CodeField(max_length=255, db_default="api_key", editable=False)
    last4 = models.CharField(max_length=4)
    # {resource: "none" | "read" | "write"}; a resource that is not named is "write".
    scopes = JSONField(default=dict, blank=True)
    created_by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField()
    # Keys live in real time, whatever the sandbox's clock says.
    last_used_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects = MerchantManager()

    def __str__(self) -> str:
        return f"{self.name} …{self.last4}"


class IdempotencyKey(models.Model):
    """A request with an `Idempotency-Key`: its progress and its answer, for 72 hours (contract 6).

    All its times are real ones.
    """

    merchant = models.ForeignKey(Merchant, models.CASCADE, related_name="+", db_index=False)
    key = CodeField(max_length=255)
    fingerprint = models.BinaryField(max_length=MARKED_BYTES)
    request_id = models.CharField(max_length=40)
    # Until then one request works on it; afterwards a retry may take the lease.
    lease_until = models.DateTimeField()
    # The one that has the lease (`core.processes`), so that a retry hears whether it still runs.
    process = models.CharField(max_length=80)
    # The recovery point: what the request is about, and whether all but the answer is done.
    object_id = CodeField(max_length=40, null=True)
    is_finished = models.BooleanField(default=False)
    # Both null while there is no answer; the body alone once a secret in it is forgotten.
    response_status = models.SmallIntegerField(null=True)
    sealed_response = SealedField(null=True)
    # An answer with a secret is not kept as long as its key is.
    answer_until = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_index=True)

    objects = MerchantManager()

    class Meta:
        indexes = [
            # Of a request that died, the settler of its payment knows nothing else.
            models.Index(fields=["request_id"], name="idempotency_keys_by_request"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["merchant", "key"], name="an_idempotency_key_is_used_once_per_merchant"
            ),
            models.CheckConstraint(
                condition=models.Q(sealed_response__isnull=True)
                | models.Q(response_status__isnull=False),
                name="a_stored_answer_has_a_status",
            ),
        ]

    @property
    def seal_context(self) -> str:
        """Return what the sealed answer is bound to: this merchant's key, and no other.

        Stored answers were sealed with this text: another opens none of them.
        """
        return f"merchants.idempotency|{self.merchant_id}|{self.key}"
