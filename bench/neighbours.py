"""Other merchants than the one that is measured."""

from core import clock, ids
from merchants.models import Merchant


def merchant_made() -> Merchant:
    """Return a new merchant, without an owner or a key."""
    return Merchant.objects.create(
        id=ids.new("mer"),
        name="Globex",
        email="owner@globex.example",
        country="TR",
        default_currency="try",
        timezone="Europe/Istanbul",
        api_version="2026-11-01",
        created_at=clock.now(),
    )
