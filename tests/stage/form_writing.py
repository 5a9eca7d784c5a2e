"""Bodies as forms, written by the official SDK's own encoder."""

from typing import Any
from urllib.parse import urlencode

from stripe._encode import _api_encode

from tests.stage.client import Answer, ApiClient

FORM = "application/x-www-form-urlencoded"


def written(body: dict[str, Any]) -> bytes:
    return urlencode(list(_api_encode(body))).encode()


def post_form(client: ApiClient, path: str, form: dict | str | bytes, **headers: str) -> Answer:
    """POST a form: a dict as Stripe's SDKs write it, anything else as it is."""
    raw = written(form) if isinstance(form, dict) else form
    raw = raw.encode() if isinstance(raw, str) else raw
    return client.post(path, raw, **{"content_type": FORM, **headers})
