from typing import Self

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from core.fields import AddressField, EmailKeyField, JSONField, id_field
from core.querysets import MerchantRows


class CustomerRows(MerchantRows):
    def existing(self) -> Self:
        """Return the customers that were not deleted."""
        return self.filter(deleted_at=None)


class Customer(models.Model):
    """Someone who pays the merchant, kept at the merchant's wish (contract 2, Customer).

    Deletion empties the row but keeps it, because payments and cursors name it.
    """

    id = id_field()
    merchant = models.ForeignKey(
        "merchants.Merchant", models.PROTECT, related_name="+", db_index=False
    )
    email = AddressField(null=True)
    email_key = EmailKeyField(null=True)
    name = models.CharField(max_length=200, null=True)
    phone = models.CharField(max_length=40, null=True)
    description = models.CharField(max_length=1000, null=True)
    # Only the fields that were given, of: line1 line2 city state postal_code country.
    address = JSONField(null=True)
    # Only the fields that were given, of: name phone address; the address as above.
    shipping = JSONField(null=True)
    default_currency = models.CharField(max_length=3, null=True)
    preferred_locales = ArrayField(models.CharField(max_length=20), default=list)
    metadata = JSONField(default=dict)
    created_at = models.DateTimeField()
    deleted_at = models.DateTimeField(null=True)

    objects = CustomerRows.as_manager()

    class Meta:
        indexes = [
            models.Index(
                fields=["merchant", "created_at", "id"],
                name="customers_of_a_merchant",
                condition=Q(deleted_at__isnull=True),
            ),
            models.Index(
                "merchant",
                "email_key",
                "created_at",
                "id",
                name="customers_by_email",
            ),
        ]
        constraints = [
            models.UniqueConstraint(fields=["merchant", "id"], name="a_customer_has_one_merchant"),
            models.CheckConstraint(
                condition=Q(email__isnull=True, email_key__isnull=True)
                | Q(email__isnull=False, email_key__isnull=False),
                name="a_customers_address_has_a_key",
            ),
            models.CheckConstraint(
                condition=Q(deleted_at__isnull=True)
                | Q(
                    email__isnull=True,
                    email_key__isnull=True,
                    name__isnull=True,
                    phone__isnull=True,
                    description__isnull=True,
                    address__isnull=True,
                    shipping__isnull=True,
                    default_currency__isnull=True,
                    preferred_locales=[],
                    metadata={},
                ),
                name="a_deleted_customer_is_nobody",
            ),
        ]

    def __str__(self) -> str:
        return self.id
