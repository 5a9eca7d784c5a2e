"""The signature under an answer that goes through the payer's browser."""

import hashlib
import hmac
from urllib.parse import quote

from django.conf import settings


def sign(fields: dict[str, str]) -> str:
    """Return the HMAC-SHA256 of the fields, in lowercase hex.

    Sorted by name, one `name=value` a line, values percent-encoded: so no value can
    read as two fields.
    """
    lines = [f"{name}={quote(fields[name], safe='')}\n" for name in sorted(fields)]
    key = settings.TESTBANK_SIGNING_KEY
    assert key is not None  # Only a live installation has none, and it opens no test bank.
    return hmac.new(key.encode(), "".join(lines).encode(), hashlib.sha256).hexdigest()
