"""A payment's metadata as rows, so that lists find payments by it (contract 7).

A function that writes `PaymentIntent.metadata` calls one of these in the same transaction;
otherwise filters would find the payment by its old metadata.
"""

from payments.intents.models import MetadataEntry, PaymentIntent


def index(intent: PaymentIntent) -> None:
    """Write the rows of a payment that has none: one for each key."""
    if intent.metadata:
        MetadataEntry.objects.bulk_create(
            MetadataEntry(
                intent=intent,
                merchant_id=intent.merchant_id,
                key=key,
                value=value,
                created_at=intent.created_at,
            )
            for key, value in intent.metadata.items()
        )


def index_anew(intent: PaymentIntent) -> None:
    """Replace the rows of a payment whose metadata has changed."""
    intent.metadata_entries.all().delete()
    index(intent)
