"""The one shape of every error answer (contract 4)."""

from typing import Any

from django.conf import settings

from core import context
from core.errors import DomainError
from core.rest.messages import message_of


def error_body(refusal: DomainError) -> dict[str, Any]:
    """Return the error envelope of a refusal."""
    context.note_refusal(refusal.code)
    error = {
        "type": refusal.type,
        "code": refusal.code,
        "message": message_of(refusal),
        "param": refusal.param,
        "doc_url": f"{settings.DOCS_URL}/errors#{refusal.code}",
        "request_id": context.request_id(),
    }
    return {"error": {**error, **refusal.shown}}


def error_headers(refusal: DomainError) -> dict[str, str]:
    """Return the headers that a refusal's status asks for."""
    headers = {}
    if refusal.http_status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="api"'
    if refusal.retry_after_seconds is not None:
        headers["Retry-After"] = str(refusal.retry_after_seconds)
    return headers
