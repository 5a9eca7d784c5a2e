import json
from collections.abc import Mapping

from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Q

from core import keyring
from core.fields import CodeField, JSONField, SealedField
from core.keyring.purposes import FINGERPRINT
from core.querysets import MerchantManager


class SealedCard(models.Model):
    """A card whose number is sealed; after its destruction what is left of it."""

    token = CodeField(primary_key=True, max_length=40, editable=False)
    merchant = models.ForeignKey(
        "merchants.Merchant", models.PROTECT, related_name="+", db_index=False
    )
    # Equal numbers of one merchant have equal fingerprints; across merchants they differ.
    fingerprint = CodeField(max_length=75)
    # While the fingerprints' key is changed: those of the same number under the other keys.
    other_fingerprints = JSONField(null=True)
    bin = models.CharField(max_length=6)
    last4 = models.CharField(max_length=4)
    exp_month = models.SmallIntegerField()
    exp_year = models.SmallIntegerField()
    # The number, the holder's name and the payer's address; null once destroyed.
    sealed = SealedField(null=True, key_id_field="key_id")
    key_id = CodeField(max_length=255)
    created_at = models.DateTimeField()
    destroyed_at = models.DateTimeField(null=True)

    objects = MerchantManager()

    class Meta:
        indexes = [
            models.Index(fields=["merchant", "fingerprint"], name="cards_by_fingerprint"),
            models.Index(
                fields=["created_at"], condition=Q(sealed__isnull=False), name="cards_to_destroy"
            ),
            models.Index(
                fields=["key_id", "token"], condition=Q(sealed__isnull=False), name="cards_by_key"
            ),
            # Empty unless the fingerprints' key was changed.
            GinIndex(
                fields=["other_fingerprints"],
                condition=Q(other_fingerprints__isnull=False),
                name="cards_under_several_keys",
            ),
        ]
        constraints = [
            # A composite foreign key (merchant, card) points at this.
            models.UniqueConstraint(
                fields=["merchant", "token"], name="a_sealed_card_has_one_merchant"
            ),
            models.CheckConstraint(
                condition=Q(fingerprint__regex=FINGERPRINT),
                name="a_card_fingerprint_is_64_hex_characters",
            ),
            models.CheckConstraint(
                condition=Q(bin__regex="^[0-9]{6}$", last4__regex="^[0-9]{4}$"),
                name="a_sealed_card_shows_six_and_four_digits",
            ),
            models.CheckConstraint(
                condition=Q(exp_month__range=(1, 12)), name="a_card_expires_in_a_month"
            ),
            models.CheckConstraint(
                condition=Q(exp_year__range=(2000, 2099)), name="a_card_expires_in_this_century"
            ),
            models.CheckConstraint(
                condition=Q(sealed__isnull=False, destroyed_at__isnull=True)
                | Q(sealed__isnull=True, destroyed_at__isnull=False),
                name="a_card_is_either_sealed_or_destroyed",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.bin}…{self.last4}"

    @property
    def is_destroyed(self) -> bool:
        """Return whether the number is gone for good."""
        return self.sealed is None

    @property
    def seal_context(self) -> str:
        """Return what the sealed bytes are bound to: this row, and no other."""
        return f"vault.card|{self.merchant_id}|{self.token}|number"

    def seal(self, content: Mapping[str, str | None]) -> None:
        """Seal the card's values, in memory: the caller stores the row."""
        self.sealed = keyring.ring().seal(json.dumps(content).encode(), context=self.seal_context)
        self.key_id = keyring.ring().key_id_of(self.sealed)
