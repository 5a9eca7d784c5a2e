from django.db import models

from core.fields import CodeField
from payments.models.intents import PaymentIntent


class MetadataEntry(models.Model):
    """A payment's metadata once more, a row per key: what `metadata[key]=value` reads.

    The index holds what is asked for, and behind it the order of the list.
    """

    pk = models.CompositePrimaryKey("intent_id", "key")
    intent = models.ForeignKey(
        PaymentIntent,
        models.PROTECT,
        related_name="metadata_entries",
        db_constraint=False,
        db_index=False,
    )
    merchant = models.ForeignKey(
        "merchants.Merchant", models.PROTECT, related_name="+", db_index=False
    )
    key = CodeField(max_length=40)
    value = CodeField(max_length=500)
    # The payment's own.
    created_at = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(
                fields=["merchant", "key", "value", "created_at", "intent"],
                name="payments_by_their_metadata",
            ),
        ]
