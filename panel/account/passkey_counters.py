"""Passkeys that count their uses: one that counts backward may be a copy, and is mailed about.

A device that counts says with each use how often it was used. Said less often than before, the key
is in two places, or the device was set back. Nothing is refused: whoever has a passkey alone would
be kept out by a device's fault (WebAuthn 6.1.1).
"""

from typing import Any

import structlog
from allauth.account.adapter import get_adapter
from allauth.core import context as allauth
from allauth.mfa.models import Authenticator
from allauth.mfa.webauthn.internal.auth import parse_authentication_response
from django.conf import settings
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from core import context
from merchants import notices, second_factors
from merchants.notices import Letter

log = structlog.get_logger(__name__)


def look_at(passkey: Authenticator, sent: dict[str, Any]) -> None:
    """Store a passkey's count, and mail its person if it is less than before.

    :param sent: what the browser has sent of its use, and has been found right.
    """
    counter = parse_authentication_response(sent).response.authenticator_data.counter
    if second_factors.counts_on(passkey, counter):
        return
    log.warning("passkey_counter_went_back", user=passkey.user_id)
    notices.send(_letter(passkey), [notices.person(passkey.user)])


def _letter(passkey: Authenticator) -> Letter:
    facts = {
        "passkey": str(passkey),
        "at": timezone.now(),
        "address": context.address(),
        "browser": get_adapter().get_http_user_agent(allauth.request),
        "page": f"{settings.PANEL_URL}{reverse('mfa_list_webauthn')}",
    }
    return Letter(_("One of your passkeys may have been copied"), "panel/mails/passkey.txt", facts)
