"""The table of BINs: the first digits of card numbers, and facts about who issued the cards."""

from django.db import models
from django.db.models import Q

from core.fields import CodeField


class BinImport(models.Model):
    """One version of the whole table; at most one is active (contract-terms: CSV)."""

    is_active = models.BooleanField(default=False)
    # The version that was active before this one: the way back.
    replaced = models.ForeignKey("self", models.SET_NULL, null=True, related_name="+")
    row_count = models.IntegerField(default=0)
    created_at = models.DateTimeField()

    class Meta:
        permissions = [("import_bins", "Can replace the table of BINs, and go back")]
        constraints = [
            models.UniqueConstraint(
                fields=["is_active"], condition=Q(is_active=True), name="one_import_is_active"
            ),
        ]

    def __str__(self) -> str:
        return f"import {self.pk}"


class Bin(models.Model):
    """The facts of all cards whose numbers begin with `prefix`; rows never change."""

    class CardType(models.TextChoices):
        CREDIT = "credit"
        DEBIT = "debit"
        PREPAID = "prepaid"

    # The constraint's index begins with it.
    version = models.ForeignKey(BinImport, models.CASCADE, related_name="bins", db_index=False)
    prefix = CodeField(max_length=8)
    brand = models.CharField(max_length=16, null=True)
    card_type = models.CharField(max_length=7, choices=CardType)
    country = models.CharField(max_length=2)
    issuer = models.CharField(max_length=100, null=True)
    program = models.CharField(max_length=40, null=True)
    commercial = models.BooleanField()
    three_d_secure_required = models.BooleanField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["version", "prefix"], name="a_prefix_is_once_in_an_import"
            ),
            models.CheckConstraint(
                condition=Q(prefix__regex="^[0-9]{6,8}$"), name="a_prefix_has_6_to_8_digits"
            ),
        ]

    def __str__(self) -> str:
        return self.prefix
