from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error

from core import keyring


def key_ring_loads(**_kwargs: Any) -> list[CheckMessage]:
    """Report a key ring that is missing or unusable before anybody needs a key."""
    try:
        keyring.load(settings.KEYRING_FILE)
    except keyring.KeyRingError as error:
        return [Error(str(error), id="vault.E001")]
    return []
