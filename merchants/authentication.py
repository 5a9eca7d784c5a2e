"""Who calls: `Authorization: Bearer sk_…`, checked before the body is read."""

from datetime import timedelta
from typing import Any

from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from core import context
from core.errors import DomainError, PermissionDenied
from merchants import keys
from merchants.models import ApiKey, Merchant

READ_METHODS = ("GET", "HEAD", "OPTIONS")
LAST_USED_PRECISION = timedelta(minutes=1)


class ApiKeyMissing(DomainError):
    code = "api_key_missing"
    http_status = 401
    message = "Send your secret key as Authorization: Bearer sk_…"


class ApiKeyInvalid(DomainError):
    code = "api_key_invalid"
    http_status = 401
    message = "The API key is not one of this installation's."


class ApiKeyExpired(DomainError):
    code = "api_key_expired"
    http_status = 401
    message = "The API key has expired."


class ApiKeyRevoked(DomainError):
    code = "api_key_revoked"
    http_status = 401
    message = "The API key was revoked."


class ApiKeyAuthentication(BaseAuthentication):
    """Make the merchant the request's user, the key its auth."""

    def authenticate(self, request: Request) -> tuple[Merchant, ApiKey]:
        key = _key_of(_bearer(request.META.get("HTTP_AUTHORIZATION", "")))
        if work := context.current():
            work.facts.update(merchant=key.merchant_id, key_id=key.id)
        return key.merchant, key


def _bearer(header: str) -> str:
    if not header.strip():
        raise ApiKeyMissing
    scheme, _, secret = header.strip().partition(" ")
    if scheme.lower() != "bearer":
        raise ApiKeyInvalid
    return secret.strip()


def _key_of(secret: str) -> ApiKey:
    if not keys.is_well_formed(secret):
        raise ApiKeyInvalid
    hashed = keys.secret_hash(secret)
    key = ApiKey.objects.select_related("merchant").filter(hash=hashed).first()
    if key is None:
        raise ApiKeyInvalid
    now = timezone.now()
    if key.revoked_at:
        raise ApiKeyRevoked
    if key.expires_at and key.expires_at <= now:
        raise ApiKeyExpired
    if key.last_used_at is None or now - key.last_used_at > LAST_USED_PRECISION:
        ApiKey.objects.filter(pk=key.pk).update(last_used_at=now)
    return key


class HasScope(BasePermission):
    """The key's scope for the view's resource covers the method (contract 5).

    A view without a `scope` answers every valid key.
    """

    def has_permission(self, request: Request, view: Any) -> bool:
        scope = getattr(view, "scope", None)
        if scope is None:
            return True
        level = request.auth.scopes.get(scope, "write")
        allowed = level == "write" or (level == "read" and request.method in READ_METHODS)
        if not allowed:
            raise PermissionDenied(f"The key has no {_needed(request)} access to {scope}.")
        return True


def _needed(request: Request) -> str:
    return "read" if request.method in READ_METHODS else "write"
