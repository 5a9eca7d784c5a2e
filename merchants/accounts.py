"""A merchant's account: opened, changed, and how the API shows it."""

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction

from core import clock, ids
from core.countries import is_country
from core.errors import DomainError, Explained
from core.names import email_key
from events import outbox
from merchants import (
    audit_log,
    installment_plans,
    keys,
    payout_schedules,
    sessions,
    sites,
    terms,
)
from merchants.audit_log import LoggedChange
from merchants.models import Member, Merchant, NonSecureLimit, User
from merchants.states import UPDATED
from merchants.terms import Term


class MerchantRestricted(DomainError):
    explained = Explained(
        cause=(
            "The account is not approved yet, is restricted or closed, or its charges or payouts "
            "are switched off. `GET /v1/merchant` shows which."
        ),
        remedy=(
            "Ask the operator of the installation. Refunds, cancellations and reads go on working."
        ),
    )
    code = "merchant_restricted"
    http_status = 403
    message = "The account cannot take payments at the moment."


class Application(NamedTuple):
    """An account to be opened.

    :param email: of the owner, who signs in to the panel.
    :param id: of the new merchant; by default a fresh one. A form that is sent twice names the
        same, and the database takes it once.
    :param reason: of the person who opens it, for the audit log.
    """

    name: str
    email: str
    websites: tuple[str, ...] = ()
    callbacks: tuple[str, ...] = ()
    country: str = "TR"
    id: str = ""
    reason: str | None = None


class Admitted(NamedTuple):
    """A new account without a key; `password` is None for an owner who had one before."""

    merchant: Merchant
    owner: User
    password: str | None


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
    password stays theirs and `password` is None. It has no event; the audit log has a row.

    :raises sites.SiteRefused: an address that cannot be registered.
    :raises django.core.exceptions.ValidationError: no name, e-mail address or country.
    """
    merchant, owner, password = admit(Application(name, email, websites, callbacks, country))
    if password and settings.LIVEMODE:
        # Its reader is not the one who made it. A sandbox's may stay.
        User.objects.filter(pk=owner.pk).update(is_password_printed=True)
        owner.is_password_printed = True
    _key, secret = keys.create(merchant, name="First key", created_by=owner)
    return Opened(merchant, owner, secret, password)


@transaction.atomic
def admit(application: Application) -> Admitted:
    """Make a merchant with an owner and its addresses, and no key: for one who may see no secret.

    :raises sites.SiteRefused: an address that cannot be registered.
    :raises django.core.exceptions.ValidationError: no name, e-mail address or country.
    :raises django.db.IntegrityError: there is a merchant of this id.
    """
    merchant = _merchant(application)
    owner, password = _owner(application.email)
    Member.objects.create(
        merchant=merchant, user=owner, role=Member.Role.OWNER, created_at=clock.now()
    )
    _record_opening(merchant, owner, application.reason)
    _record_member(merchant, owner, application.reason)
    for address in application.websites:
        sites.register_website(merchant, address, reason=application.reason)
    for address in application.callbacks:
        sites.register_callback(merchant, address, reason=application.reason)
    return Admitted(merchant, owner, password)


def _merchant(application: Application) -> Merchant:
    """Make the row: in a sandbox ready for payments, in live for an operator's approval.

    A live account takes none without 3-D Secure, until an operator allows it and says how much.
    """
    is_live = settings.LIVEMODE
    merchant = Merchant(
        id=application.id or ids.new("mer"),
        name=application.name,
        email=application.email,
        country=application.country,
        default_currency=settings.CURRENCIES[0],
        timezone="Europe/Istanbul",
        status=Merchant.Status.PENDING if is_live else Merchant.Status.ACTIVE,
        non_secure_allowed=not is_live,
        api_version=settings.API_VERSIONS[-1],
        created_at=clock.now(),
    )
    if not is_country(merchant.country):
        raise ValidationError({"country": ["Two capital letters, as ISO 3166 has them, or XK."]})
    # Apart from metadata, which is empty and may be; and the database says best whether the id is
    # taken.
    merchant.full_clean(exclude=["metadata"], validate_unique=False)
    merchant.save(force_insert=True)
    if not is_live:
        NonSecureLimit.objects.create(
            merchant=merchant,
            currency=merchant.default_currency,
            per_payment=settings.NON_SECURE_PER_PAYMENT,
        )
    return merchant


def _record_opening(merchant: Merchant, owner: User, reason: str | None) -> None:
    facts = ("name", "email", "country", "default_currency", "status")
    after = {name: getattr(merchant, name) for name in facts} | {"owner": owner.pk}
    audit_log.record(
        "merchant.opened", merchant=merchant, subject=merchant.id, after=after, reason=reason
    )


def _record_member(merchant: Merchant, owner: User, reason: str | None) -> None:
    # A person who joins a team signs in anew.
    sessions.end_all_of(owner)
    after = {"role": Member.Role.OWNER}
    audit_log.record(
        "member.added", merchant=merchant, subject=str(owner.pk), after=after, reason=reason
    )


def _owner(email: str) -> tuple[User, str | None]:
    user = User.objects.filter(email=email_key(email)).first()
    if user:
        return user, None
    password = secrets.token_urlsafe(15)
    return User.objects.create_user(email, password), password


@transaction.atomic
def change(merchant: Merchant, changes: Mapping[str, Any], reason: str | None = None) -> Merchant:
    """Change an account's terms; the one door for it. What is as it was is no change.

    Writes `merchant.updated` if the API shows another account afterwards, and an audit row for
    each kind of change (contract: Merchant changes).

    :param changes: new values by the names of `merchants.terms`.
    :param reason: the reason of the person who changes it, for the audit log.
    :returns: the merchant as it is now.
    :raises ChangeRefused: one of the changes cannot be made; then none is.
    """
    wanted = {terms.find(name): value for name, value in changes.items()}
    locked = Merchant.objects.select_for_update(no_key=True).get(id=merchant.id)
    before = shown(locked)
    made = [_written(locked, term, value) for term, value in wanted.items()]
    after = shown(locked)
    if after != before:
        outbox.record(locked, UPDATED, after, before)
    audit_log.record_all(locked, _together(one for one in made if one), reason)
    return locked


def _written(merchant: Merchant, term: Term, value: Any) -> LoggedChange | None:
    before = term.read(merchant)
    term.write(merchant, value)
    after = term.read(merchant)
    if before == after:
        return None
    if isinstance(after, list):
        gone, came = _not_in(after, before), _not_in(before, after)
        before, after = gone, came
    name = term.shown_as or term.name
    return LoggedChange(term.action, term.subject(merchant, value), {name: before}, {name: after})


def _not_in(others: list[Any], rows: list[Any]) -> list[Any]:
    return [row for row in rows if row not in others]


def _together(changes: Iterable[LoggedChange]) -> list[LoggedChange]:
    merged: dict[tuple[str, str], LoggedChange] = {}
    for one in changes:
        kind = (one.action, one.subject)
        known = merged.get(kind, LoggedChange(*kind))
        before = {**(known.before or {}), **(one.before or {})}
        merged[kind] = LoggedChange(*kind, before, {**(known.after or {}), **(one.after or {})})
    return list(merged.values())


def takes_charges(merchant: Merchant) -> bool:
    """Return whether a payment would be taken now: the account is active, and the switch is on.

    Whether an acquirer is set up belongs to the installation, and is not asked here.
    """
    return merchant.status == Merchant.Status.ACTIVE and merchant.charges_enabled


def is_paid_out(merchant: Merchant) -> bool:
    """Return whether a payout would be made now: the account is active, and the switch is on."""
    return merchant.status == Merchant.Status.ACTIVE and merchant.payouts_enabled


def require_charges(merchant: Merchant) -> None:
    """Refuse a payment of an account that may not take any.

    :raises MerchantRestricted: not active, or charges are switched off.
    """
    if not takes_charges(merchant):
        raise MerchantRestricted(advice=_standing(merchant))


def require_payouts(merchant: Merchant) -> None:
    """Refuse a payout of an account that may not have any.

    :raises MerchantRestricted: not active, or payouts are switched off (contract-money, Merchant).
    """
    if not is_paid_out(merchant):
        raise MerchantRestricted(
            "The account cannot be paid out at the moment.", advice=_standing(merchant)
        )


def _standing(merchant: Merchant) -> str:
    if merchant.status != Merchant.Status.ACTIVE:
        return f"Its status is {merchant.status}; the operator of the service changes it."
    return "The operator of the service has switched this off for the account."


def require_payouts_by_operator(merchant: Merchant) -> None:
    """Refuse an operator's payout of an account that may not have any; of a closed one it is made.

    Closed is final: the money that it still has could never leave otherwise.

    :raises MerchantRestricted: pending or restricted, or payouts are switched off.
    """
    if merchant.status != Merchant.Status.CLOSED:
        require_payouts(merchant)


def require_captures(merchant: Merchant) -> None:
    """Refuse to capture for an account that is closed; others may take what was authorised.

    :raises MerchantRestricted: it is closed (contract-money, Merchant).
    """
    if merchant.status == Merchant.Status.CLOSED:
        raise MerchantRestricted


def require_topups(merchant: Merchant) -> None:
    """Refuse a topup of an account that is closed; all others may send money.

    :raises MerchantRestricted: it is closed (contract-money, Merchant).
    """
    if merchant.status == Merchant.Status.CLOSED:
        raise MerchantRestricted("The account is closed.")


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
        "charges_enabled": takes_charges(merchant),
        "payouts_enabled": is_paid_out(merchant),
        "non_secure_allowed": merchant.non_secure_allowed,
        "non_secure_limits": [
            {"currency": row.currency, "per_payment": row.per_payment, "per_day": row.per_day}
            for row in merchant.non_secure_limits.order_by("currency")
        ],
        "installments": installment_plans.shown(merchant),
        "payout_schedule": payout_schedules.shown(merchant),
        "websites": [str(site) for site in merchant.websites.order_by("id")],
        "callback_urls": [str(site) for site in merchant.callback_urls.order_by("id")],
        "metadata": merchant.metadata,
        "created": clock.unix(merchant.created_at),
        "livemode": settings.LIVEMODE,
    }
