"""Opening a merchant's account, and how the API shows it."""

import secrets
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import transaction

from core import clock, ids
from core.errors import DomainError
from merchants import installment_plans, keys, sites
from merchants.models import Member, Merchant, NonSecureLimit, User


class MerchantRestricted(DomainError):
    code = "merchant_restricted"
    http_status = 403
    message = "The account cannot take payments at the moment."


@dataclass(frozen=True, slots=True)
class Opened:
    """A new account with the secrets that are shown this once."""

    merchant: Merchant
    owner: User
    secret_key: str
    password: str | None


@transaction.atomic
def open_account(
    *,
    name: str,
    email: str,
    websites: tuple[str, ...] = (),
    callbacks: tuple[str, ...] = (),
    country: str = "TR",
) -> Opened:
    """Make a merchant with an owner, a key, and its addresses.

    An e-mail that is a user's already becomes the owner of one more merchant; the
    password stays theirs and `password` is None.

    :raises sites.SiteRefused: an address that cannot be registered.
    :raises django.core.exceptions.ValidationError: no name, e-mail address or country.
    """
    merchant = Merchant(
        id=ids.new("mer"),
        name=name,
        email=email,
        country=country,
        default_currency=settings.CURRENCIES[0],
        timezone="Europe/Istanbul",
        non_secure_allowed=True,
        api_version=settings.API_VERSIONS[-1],
        created_at=clock.now(),
    )
    # Apart from metadata, which is empty and may be.
    merchant.full_clean(exclude=["metadata"])
    merchant.save(force_insert=True)
    NonSecureLimit.objects.create(
        merchant=merchant,
        currency=merchant.default_currency,
        per_payment=settings.NON_SECURE_PER_PAYMENT,
    )
    owner, password = _owner(email)
    Member.objects.create(
        merchant=merchant, user=owner, role=Member.Role.OWNER, created_at=clock.now()
    )
    for address in websites:
        sites.register_website(merchant, address)
    for address in callbacks:
        sites.register_callback(merchant, address)
    _key, secret = keys.create(merchant, name="First key", created_by=owner)
    return Opened(merchant, owner, secret, password)


def _owner(email: str) -> tuple[User, str | None]:
    user = User.objects.filter(email=User.objects.normalize_email(email)).first()
    if user:
        return user, None
    password = secrets.token_urlsafe(15)
    return User.objects.create_user(email, password), password


def require_charges(merchant: Merchant) -> None:
    """Refuse a payment of an account that may not take any.

    :raises MerchantRestricted: not active, or charges are switched off.
    """
    if merchant.status != Merchant.Status.ACTIVE or not merchant.charges_enabled:
        raise MerchantRestricted


def shown(merchant: Merchant) -> dict[str, Any]:
    """Return the merchant as the API shows it (contract 2)."""
    return {
        "id": merchant.id,
        "object": "merchant",
        "name": merchant.name,
        "legal_name": merchant.legal_name or None,
        "country": merchant.country,
        "default_currency": merchant.default_currency,
        "timezone": merchant.timezone,
        "mcc": merchant.mcc or None,
        "status": merchant.status,
        "charges_enabled": merchant.charges_enabled,
        "payouts_enabled": merchant.payouts_enabled,
        "non_secure_allowed": merchant.non_secure_allowed,
        "non_secure_limits": [
            {"currency": row.currency, "per_payment": row.per_payment, "per_day": row.per_day}
            for row in merchant.non_secure_limits.order_by("currency")
        ],
        "installments": installment_plans.shown(merchant),
        "websites": [str(site) for site in merchant.websites.order_by("id")],
        "callback_urls": [str(site) for site in merchant.callback_urls.order_by("id")],
        "metadata": merchant.metadata,
        "created": clock.unix(merchant.created_at),
        "livemode": settings.LIVEMODE,
    }
