"""Cards that are sealed for the payer's next press: one per session, for 15 minutes at most."""

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F, QuerySet

from core import clock
from payments.charging.methods import CardGone, OfferedCard
from payments.checkout.models import CheckoutSession
from payments.checkout.tickets import Held
from vault import cards as vault_cards
from vault import cvc as vault_cvc

# Cards that one run destroys at most; the next one goes on.
DESTROYED_AT_ONCE = 500


def hold(session: CheckoutSession, offered: OfferedCard) -> Held:
    """Seal a card for the payer's next press, and hold its security code as long.

    The session's earlier held card is destroyed. One that is held already stays as it is.
    """
    if offered.token is not None:
        return Held(offered.token, offered.shown)
    held = Held(_seal(session, offered), offered.shown)
    if offered.cvc:
        # After the commit: Redis is another machine.
        vault_cvc.hold(held.token, offered.cvc)
    return held


@transaction.atomic(durable=True)
def _seal(session: CheckoutSession, offered: OfferedCard) -> str:
    locked: CheckoutSession = CheckoutSession.objects.for_merchant(session.merchant).lock(
        session.id
    )
    now = clock.now()
    if locked.held_card:
        vault_cards.destroy([locked.held_card], now=now)
    locked.held_card, locked.held_at = offered.seal(session.merchant).token, now
    locked.save(update_fields=["held_card", "held_at"])
    return locked.held_card


def offer_again(session: CheckoutSession, held: Held) -> OfferedCard:
    """Return a held card as it is offered for the press that came.

    :raises CardGone: its security code is no longer held.
    """
    cvc = vault_cvc.look(held.token)
    if cvc is None:
        raise CardGone
    return OfferedCard(held.shown, cvc, token=held.token)


def use(session: QuerySet[CheckoutSession], token: str | None, **chosen: Any) -> bool:
    """Count a try of a session, and take its held card off it: an attempt has the card now.

    :param session: the one row, if it takes a press.
    :param token: of the held card, None if the card was typed.
    :param chosen: columns that the try writes too.
    :returns: whether the session takes the press, and holds this card.
    """
    if token is None:
        return session.update(tries=F("tries") + 1, **chosen) > 0
    holding = session.filter(held_card=token)
    return holding.update(tries=F("tries") + 1, held_card=None, held_at=None, **chosen) > 0


def destroy_due() -> int:
    """Destroy the held cards that were not used in time, and return how many.

    Those in use at this moment are left alone.
    """
    before = clock.now() - timedelta(seconds=settings.HELD_CARD_SECONDS)
    due = CheckoutSession.objects.filter(held_card__isnull=False, held_at__lte=before)
    return _destroy(due) if due.exists() else 0


@transaction.atomic(durable=True)
def _destroy(due: QuerySet[CheckoutSession]) -> int:
    rows = due.select_for_update(skip_locked=True, of=("self",)).order_by("held_at")
    held = dict(rows.values_list("id", "held_card")[:DESTROYED_AT_ONCE])
    CheckoutSession.objects.filter(id__in=held).update(held_card=None, held_at=None)
    return vault_cards.destroy([token for token in held.values() if token], now=clock.now())
