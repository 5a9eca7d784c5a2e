"""Customers as the API shows them; answers and event bodies hold the same dicts (contract 2)."""

from typing import Any

from django.conf import settings

from core import clock
from payments.customers.models import Customer

ADDRESS_FIELDS = ("line1", "line2", "city", "state", "postal_code", "country")


def customer(customer: Customer) -> dict[str, Any]:
    """Return a customer as the API shows it; a deleted one is an id and `deleted` (contract 2)."""
    if customer.deleted_at is not None:
        return {"id": customer.id, "object": "customer", "deleted": True}
    return {
        "id": customer.id,
        "object": "customer",
        "email": customer.email,
        "name": customer.name,
        "phone": customer.phone,
        "description": customer.description,
        "address": _address(customer.address),
        "shipping": _shipping(customer.shipping),
        "default_currency": customer.default_currency,
        "preferred_locales": customer.preferred_locales,
        "metadata": customer.metadata,
        "created": clock.unix(customer.created_at),
        "livemode": settings.LIVEMODE,
    }


def _address(stored: dict[str, Any] | None) -> dict[str, Any] | None:
    return {name: stored.get(name) for name in ADDRESS_FIELDS} if stored else None


def _shipping(stored: dict[str, Any] | None) -> dict[str, Any] | None:
    if not stored:
        return None
    return {
        "name": stored.get("name"),
        "phone": stored.get("phone"),
        "address": _address(stored.get("address")),
    }
