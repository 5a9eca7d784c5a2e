"""Names of rows in Django's cache: codes and addresses in them are not for its readers."""

from django.utils.crypto import salted_hmac


def hidden_key(key: str, key_prefix: str, version: int) -> str:
    """Return the name of a row; it does not show what is counted there."""
    named = f"{key_prefix}:{version}:{key}"
    return salted_hmac("panel.account.cache", named, algorithm="sha256").hexdigest()
