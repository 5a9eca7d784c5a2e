from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

from core.fields import id_field
from core.querysets import MerchantRows


class Customer(models.Model):
    """Someone who pays the merchant, kept at the merchant's wish (contract 2, Customer)."""

    id = id_field()
    merchant = models.ForeignKey(
        "merchants.Merchant", models.PROTECT, related_name="+", db_index=False
    )
    email = models.EmailField(null=True)
    name = models.CharField(max_length=200, null=True)
    phone = models.CharField(max_length=40, null=True)
    description = models.CharField(max_length=1000, null=True)
    metadata = models.JSONField(default=dict)
    created_at = models.DateTimeField()

    objects = MerchantRows.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["merchant", "created_at", "id"], name="customers_of_a_merchant"),
            models.Index(
                "merchant",
                Lower("email"),
                "created_at",
                "id",
                name="customers_by_email",
                condition=Q(email__isnull=False),
            ),
        ]
        constraints = [
            models.UniqueConstraint(fields=["merchant", "id"], name="a_customer_has_one_merchant"),
        ]

    def __str__(self) -> str:
        return self.id
