from django.db import models

from core.fields import CodeField
from core.querysets import MerchantManager
from payments.intents.models.intents import PaymentIntent


class MetadataEntry(models.Model):
    """A copy of one key of a payment's metadata; the filter `metadata[key]=value` reads it.

    Its index begins with merchant, key and value and ends with the order of the list, so a page
    reads only its own rows.
    """

    pk = models.CompositePrimaryKey("intent_id", "key", "merchant_id")
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
    # Copied from the payment, for the order of the list.
    created_at = models.DateTimeField()

    objects = MerchantManager()

    class Meta:
        indexes = [
            models.Index(
                fields=["merchant", "key", "value", "created_at", "intent"],
                name="payments_by_their_metadata",
            ),
        ]
