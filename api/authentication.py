"""The API's callers, known by `Authorization: Bearer sk_…` before the body is read."""

from collections.abc import Sequence
from datetime import timedelta
from functools import cache
from itertools import islice
from typing import Any, TypeVar, cast

from django.conf import settings
from django.db import NotSupportedError, OperationalError, connection
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from core import clock, context, installation, limits, prepared
from core.context import ActorKind
from core.errors import DomainError, Explained, PermissionDenied
from core.http import client_address
from core.registry import Registry
from merchants import keys
from merchants.models import ApiKey, Merchant

M = TypeVar("M", ApiKey, Merchant)

KEY_FIELDS, MERCHANT_FIELDS = (
    [f"{model._meta.db_table}.{field.column}" for field in model._meta.concrete_fields]
    for model in (ApiKey, Merchant)
)
OWN = (*KEY_FIELDS, *MERCHANT_FIELDS, clock.OFFSET_COLUMN)
# SQL of one value each, by its name in `config.caller`: what rooms above need for a change.
PARTS: Registry[str] = Registry("part of the caller")
BLANKS = " \t"
READ_METHODS = ("GET", "HEAD", "OPTIONS")
LAST_USED_PRECISION = timedelta(minutes=1)


def register(**parts: str) -> None:
    """Let the statement that finds the caller's key find more; called in `AppConfig.ready()`."""
    for name, part in parts.items():
        PARTS.add(name, part)


@cache
def _statement(*parts: str) -> str:
    # Asked in each request, and therefore prepared: Django writes, and PostgreSQL plans it anew
    # every time, which takes four times as long.
    columns = (*OWN, *(f"({part})" for part in parts))
    return f"""
SELECT {", ".join(columns)}
FROM merchants_apikey JOIN merchants_merchant ON merchants_merchant.id = merchant_id
WHERE hash = ANY (%(hashes)s::bytea[])
"""  # noqa: S608


@cache
def _of_merchant(*parts: str) -> str:
    columns = ", ".join((clock.OFFSET_COLUMN, *(f"({part})" for part in parts)))
    return f"SELECT {columns} FROM merchants_merchant WHERE id = %(merchant)s::text"  # noqa: S608


def note_parts(merchant: Merchant) -> None:
    """Find for a merchant without a key what the statement of a caller's key finds with it.

    :raises HeldCopy: this is a copy that no operator has opened.
    """
    [row] = prepared.rows(_of_merchant(*PARTS.values()), {"merchant": merchant.id})
    offset, *found = row
    clock.note_offset(offset)
    merchant.caller = dict(zip(PARTS, found, strict=True))
    _refuse_on_held_copy(merchant)


class ApiKeyMissing(DomainError):
    explained = Explained(
        cause="The request has no `Authorization` header with a secret key.",
        remedy=(
            "Send `Authorization: Bearer` and your secret key with every request, from your server "
            "alone."
        ),
    )
    code = "api_key_missing"
    http_status = 401
    message = "Send your secret key as Authorization: Bearer sk_…"
    advice = "The panel makes secret keys, under Developers, API keys."


class ApiKeyInvalid(DomainError):
    explained = Explained(
        cause=(
            "No key of this installation is equal to the one that was sent. A key of the sandbox "
            "does not work in live, and the other way round."
        ),
        remedy=(
            "Copy the key again from where you keep it. If it is lost, make another one in the "
            "panel: a key is shown once."
        ),
    )
    code = "api_key_invalid"
    http_status = 401
    message = "The API key is not one of this installation's."


LIVE_KEY_IN_SANDBOX = (
    "This is a live installation's API key, and this is a sandbox: send one that begins with "
    f"{keys.SANDBOX}."
)
TEST_KEY = (
    f"A sandbox's key begins with {keys.SANDBOX}, a live installation's with {keys.LIVE}: no key "
    "begins with sk_test_, pk_ or rk_."
)
INCOMPLETE_KEY = "The key is mistyped, or was not copied whole: its last characters do not fit."
SANDBOX_KEY_IN_LIVE = (
    "This is a sandbox's API key, and this installation is live: send one that begins with "
    f"{keys.LIVE}."
)


class ApiKeyExpired(DomainError):
    explained = Explained(
        cause="The key is right, and its time is over.",
        remedy="Use the key that replaced it, or make one in the panel (Developers, API keys).",
    )
    code = "api_key_expired"
    http_status = 401
    message = "The API key has expired."


class ApiKeyRevoked(DomainError):
    explained = Explained(
        cause="The key is right, and somebody of your team has revoked it.",
        remedy=(
            "Make another key in the panel, and replace this one in your server. If nobody you know"
            " has revoked it, look at the audit log."
        ),
    )
    code = "api_key_revoked"
    http_status = 401
    message = "The API key was revoked."


FOREIGN = ("sk_test_", "pk_", "rk_")
NO_SCHEME = 'The header needs the word "Bearer" and a space before the key.'

REFUSALS = (ApiKeyMissing, ApiKeyInvalid, ApiKeyExpired, ApiKeyRevoked)


class ApiKeyAuthentication(BaseAuthentication):
    """Make the merchant the request's user, the key its auth."""

    def authenticate(self, request: Request) -> tuple[Merchant, ApiKey]:
        try:
            parts = () if request.method in READ_METHODS else PARTS.values()
            secret = _bearer(request.META.get("HTTP_AUTHORIZATION", ""))
            key = _key_of(secret, _statement(*parts))
        except REFUSALS:
            limits.count_failed_authentication(client_address(request))
            raise
        _refuse_on_held_copy(key.merchant)
        return key.merchant, key


# REST framework's types know users of Django and tokens only; these two are the ones in its place.
def merchant_of(request: Request) -> Merchant:
    """Return the merchant that an authenticated request of the API belongs to."""
    return cast(Merchant, request.user)


def key_of(request: Request) -> ApiKey:
    """Return the key that an authenticated request of the API was sent with."""
    return cast(ApiKey, request.auth)


def _refuse_on_held_copy(merchant: Merchant) -> None:
    # Of those who only read nothing more is found than who they are.
    if merchant.caller and merchant.caller[installation.CALLER]:
        raise installation.HeldCopy


def key_sent(header: str) -> ApiKey | None:
    """Return the key in an `Authorization` header as it is stored, revoked and expired ones too."""
    try:
        secret = _bearer(header)
    except REFUSALS:
        return None
    if not keys.is_well_formed(secret):
        return None
    return _stored(secret, _statement())


def _bearer(header: str) -> str:
    # Blanks and tabs are HTTP's own (RFC 9110 5.6.3): any other byte is part of the value.
    scheme, _, secret = header.strip(BLANKS).partition(" ")
    if not scheme:
        raise ApiKeyMissing
    if scheme.lower() != "bearer":
        is_basic = scheme.lower() == "basic"
        advice = "It came as Basic authentication, as curl's -u sends it." if is_basic else ""
        raise ApiKeyInvalid(ApiKeyMissing.message, advice=advice or NO_SCHEME)
    return secret.strip(BLANKS)


def _key_of(secret: str, find: str) -> ApiKey:
    if keys.is_of_the_other_kind(secret):
        raise ApiKeyInvalid(SANDBOX_KEY_IN_LIVE if settings.LIVEMODE else LIVE_KEY_IN_SANDBOX)
    if not keys.is_well_formed(secret):
        raise ApiKeyInvalid(advice=_reason(secret))
    key = _stored(secret, find)
    if key is None:
        raise ApiKeyInvalid
    if work := context.current():
        # Of a revoked or expired key too: its owner may see that it is still in use.
        work.facts.update(merchant=key.merchant_id, key_id=key.id)
    now = timezone.now()
    if key.revoked_at:
        raise ApiKeyRevoked
    if key.expires_at and key.expires_at <= now:
        raise ApiKeyExpired
    context.act_as(ActorKind.API_KEY, key.id, key.name)
    renewed = keys.renewed(key, secret)
    if renewed or key.last_used_at is None or now - key.last_used_at > LAST_USED_PRECISION:
        ApiKey.objects.filter(pk=key.pk).update(last_used_at=now, **renewed)
    return key


def _reason(secret: str) -> str:
    if secret.startswith(FOREIGN):
        return TEST_KEY
    return INCOMPLETE_KEY if secret.startswith(keys.prefix()) else ""


def _stored(secret: str, find: str) -> ApiKey | None:
    # An array as PostgreSQL writes one.
    hashed = ",".join(rf'"\\x{one.hex()}"' for one in keys.secret_hashes(secret))
    try:
        return _found(f"{{{hashed}}}", find)
    except (OperationalError, NotSupportedError):
        if connection.in_atomic_block:
            raise
        # The connection has lost what was prepared, a migration has changed a column, or the
        # server is going this moment. Nothing has happened in this request yet: it begins anew.
        connection.close()
        return _found(f"{{{hashed}}}", find)


def _found(hashes: str, find: str) -> ApiKey | None:
    for row in prepared.rows(find, {"hashes": hashes}):
        values = iter(row)
        key = _read(ApiKey, list(islice(values, len(KEY_FIELDS))))
        key.merchant = _read(Merchant, list(islice(values, len(MERCHANT_FIELDS))))
        clock.note_offset(next(values))
        if found := list(values):
            key.merchant.caller = dict(zip(PARTS, found, strict=True))
        return key
    return None


def _read(model: type[M], values: Sequence[Any]) -> M:
    return model.from_db(connection.alias, (), values)


class HasScope(BasePermission):
    """The key's scope for the view's resource covers the method (contract 5).

    A view without a `scope` answers every valid key.
    """

    def has_permission(self, request: Request, view: Any) -> bool:
        scope = getattr(view, "scope", None)
        if scope is not None:
            require_scope(key_of(request), scope, request.method or "")
        return True


def require_scope(key: ApiKey, resource: str, method: str) -> None:
    """Refuse what a key may not do with a resource.

    :raises PermissionDenied: the key's level for it does not cover the HTTP method.
    """
    if not may(key, resource, method):
        needed = "read" if method in READ_METHODS else "write"
        raise PermissionDenied(f"The key has no {needed} access to {resource}.")


def may(key: ApiKey, resource: str, method: str) -> bool:
    """Return whether the key's level for a resource covers the HTTP method."""
    level = key.scopes.get(resource, "write")
    return level == "write" or (level == "read" and method in READ_METHODS)
