"""The test bank's address and key: the settings', or those that a terminal names itself."""

from dataclasses import dataclass, field

from django.conf import settings

from acquirers import terminals
from acquirers.models import Terminal


@dataclass(frozen=True, slots=True)
class Access:
    """The way to the bank of one terminal.

    :param signing_key: of the answers that payers' browsers carry.
    """

    url: str
    signing_key: str = field(repr=False)


def access_of(terminal: Terminal) -> Access:
    """Return the way to the terminal's bank; its values are `api_url` and `signing_key`."""
    named = terminals.credentials_of(terminal)
    key = named.get("signing_key", settings.TESTBANK_SIGNING_KEY)
    assert key is not None  # Only a live installation has none, and it has no test bank.
    return Access(named.get("api_url", settings.TESTBANK_URL), key)
