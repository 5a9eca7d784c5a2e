"""Hand-offs: the card goes from the payer's own browser to the bank's gate (docs/adr/0022).

The link alone never shows the card. An attempt belongs to the browser that typed its card on a page
of ours, or else to the first one that presses our button. That one alone gets the form, again for
15 minutes or until the payer's return.
"""

import hmac
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

import acquirers
from acquirers import payers
from acquirers.three_d_secure import Form
from core.errors import UpstreamUnavailable
from payments.bank import payer_addresses
from payments.intents.models import Attempt
from payments.intents.states import AttemptStatus
from payments.payer import browsers, three_d_secure
from vault import cvc as vault_cvc

# In real time. The security code is held as long, counted from its typing: it may end before.
FORM_IS_SHOWN_FOR = timedelta(seconds=vault_cvc.LIFE_SECONDS)


class PressedElsewhere(Exception):
    """The attempt is another browser's, or this one keeps no cookie to be known by."""


class PressedTooLate(Exception):
    """The payer cannot go on: the time is over, the security code gone, or the card destroyed."""


def press(attempt: Attempt, browser: str | None) -> Form | None:
    """Return the form for the bank's gate, with the card in it; None if no payer is awaited.

    :param browser: the secret of the browser's cookie, None without one.
    :raises PressedElsewhere: another browser has the attempt.
    :raises PressedTooLate: the payer has to start again in the shop.
    """
    if browser is None:
        raise PressedElsewhere
    if not _bind(attempt, browsers.digest(browser)):
        return None
    form = _form(attempt)
    return None if form.charges and not _note_charge(attempt) else form


@transaction.atomic(durable=True)
def _bind(attempt: Attempt, browser: str) -> bool:
    """Keep the first browser that presses; return whether the attempt awaits its payer."""
    locked = Attempt.objects.select_for_update().get(id=attempt.id)
    if locked.status != AttemptStatus.REQUIRES_ACTION:
        return False
    hand_off, now = locked.hand_off, timezone.now()
    if not hmac.compare_digest(hand_off.get("browser", browser), browser):
        raise PressedElsewhere
    if "pressed_at" not in hand_off:
        locked.hand_off = {**hand_off, "browser": browser, "pressed_at": now.timestamp()}
        if address := payer_addresses.note_page(locked):
            payers.keep(attempt.sealed_card, address)
        locked.save(update_fields=["hand_off", "payer_ip_source"])
        return True
    if now.timestamp() - hand_off["pressed_at"] > FORM_IS_SHOWN_FOR.total_seconds():
        raise PressedTooLate
    return True


@transaction.atomic(durable=True)
def _note_charge(attempt: Attempt) -> bool:
    """Write down that the bank may charge by itself, before the browser gets the form.

    :returns: whether the attempt still awaits its payer.
    """
    locked = Attempt.objects.select_for_update().get(id=attempt.id)
    if locked.status != AttemptStatus.REQUIRES_ACTION:
        return False
    locked.hand_off = {**locked.hand_off, "charges": True}
    locked.save(update_fields=["hand_off"])
    return True


def _form(attempt: Attempt) -> Form:
    assert attempt.acs_url is not None  # `three_d_secure` writes it together with the status.
    try:
        gateway = acquirers.of(attempt)
    except UpstreamUnavailable as no_adapter:
        raise PressedTooLate from no_adapter
    needs_cvc = gateway.capabilities.cvc_at_handoff
    cvc = vault_cvc.look(attempt.id) if needs_cvc else None
    is_complete = cvc is not None or not needs_cvc
    request = three_d_secure.request_of(attempt, cvc)
    form = gateway.handoff(request, attempt.acs_url) if is_complete else None
    if form is None:
        raise PressedTooLate
    return form
