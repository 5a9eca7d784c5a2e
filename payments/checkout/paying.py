"""A payer's press: one attempt per form, of what the form has shown, or none."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.db.models import Case, F, SmallIntegerField, When

from api import idempotency
from core import clock, connections, context
from core.errors import DomainError
from core.rest.parsers import CardInput
from merchants.models import IdempotencyKey
from payments.charging import confirmation, recovery
from payments.charging.installments import Wish
from payments.charging.methods import CardGone, OfferedCard
from payments.charging.terms import Press
from payments.checkout import held_cards, links
from payments.checkout.models import CheckoutSession
from payments.checkout.states import Authentication, SessionStatus
from payments.checkout.tickets import Ticket
from payments.installments import plans
from payments.installments.plans import Option
from payments.intents.models import PaymentIntent
from payments.intents.refusals import InstallmentsNotAvailable
from payments.payer import browsers
from vault import cvc as vault_cvc

# A second press of one form waits so long for the end of the first.
SECOND_PRESS_WAITS_SECONDS = 2
SECOND_LOOK_SECONDS = 0.1


class SessionOver(DomainError):
    """The session has ended, or its time is over: no attempt begins."""

    code = "checkout_session_unexpected_state"
    message = "The checkout session has ended."


class TermsChanged(DomainError):
    """The payment is no longer what the form has shown."""

    code = "surcharge_mismatch"
    message = "The payment has other terms than the page has shown."


class SentBefore(Exception):
    """The form was sent before, with another card: the end of that one counts."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The card and the terms that a payer agrees to by one press.

    :param key: differs between two presses of one form with different cards.
    :param plan: the count and the surcharge that the page has shown.
    :param network: the payer's, None if it is not known.
    :param locale: the language that the payer has chosen by the page's link.
    """

    ticket: Ticket
    offered: OfferedCard
    key: Any = field(repr=False)
    billing: dict[str, Any] = field(repr=False)
    plan: Wish
    locale: str = ""
    network: str | None = field(default=None, repr=False)


def key_of(ticket: Ticket, number: str | None) -> Any:
    """Return what the press of a form is known by: its card."""
    return CardInput({"number": number}) if number else ticket.held and ticket.held.token


def was_sent(session: CheckoutSession, ticket: Ticket) -> bool:
    """Return whether an attempt has the form's nonce: its end is the form's."""
    claims = IdempotencyKey.objects.filter(merchant=session.merchant, key=_claim_key(ticket))
    return claims.exists()


def _claim_key(ticket: Ticket) -> str:
    return f"pay_{ticket.nonce}"


def ways_to_pay(session: CheckoutSession, card: dict[str, Any]) -> list[Option]:
    """Return the ways in which a payer may pay with a card; at once first, if they may choose.

    :raises InstallmentsNotAvailable: the shop has asked for a count that this card cannot pay in.
    """
    intent = session.intent
    offered = plans.options(session.merchant, card, amount=intent.amount, currency=intent.currency)
    asked = asked_installments(session)
    if asked == 1:
        return [one for one in offered if one.installments <= session.installments_max]
    as_asked = [one for one in offered if one.installments == asked]
    if not as_asked:
        raise InstallmentsNotAvailable
    return as_asked


def asked_installments(session: CheckoutSession) -> int:
    """Return the count that the shop has asked for; 1 where the payer may choose.

    After a try the payment shows the count of the payer's own choice, which binds no other card.
    """
    count = session.intent.installments
    return 1 if count == session.chosen_installments else count


def pay(session: CheckoutSession, choice: Choice) -> PaymentIntent | None:
    """Charge the card that a payer has given, once for each form; the payment says how it ended.

    :returns: the payment as this press has left it, None if an earlier press of the form did.
    :raises SentBefore: the form was sent with another card before.
    :raises SessionOver: the session has ended.
    :raises TermsChanged: the payment has another amount, currency or count by now.
    :raises SurchargeMismatch: the plan costs something else by now.
    :raises CardGone: the card that was held is used, destroyed, or without its security code.
    :raises DomainError: as `confirmation.confirm` does; nothing is stored then.
    """
    merchant = session.merchant
    if work := context.current():
        work.payer_browser = browsers.digest(browsers.secret_of_press(choice.ticket.nonce))
    try:
        _claim(session, choice)
    except (idempotency.Replayed, idempotency.IdempotencyKeyInUse):
        return None  # The form was sent before, and this is its result.
    except idempotency.IdempotencyKeyReused:
        raise SentBefore from None
    with _claim_let_go():
        try:
            if earlier := idempotency.earlier():
                return recovery.resume(merchant, earlier, cvc=choice.offered.cvc)
            return _confirm(session, choice)
        except idempotency.IdempotencyKeyInUse:
            # Another press of the form was faster, or the sweeper asks the bank at this moment.
            with suppress(idempotency.Replayed, idempotency.IdempotencyKeyInUse):
                _claim(session, choice)
            return None


@contextmanager
def _claim_let_go() -> Iterator[None]:
    try:
        yield
    except BaseException:
        idempotency.let_go()
        raise


def _claim(session: CheckoutSession, choice: Choice) -> None:
    """Look the form's nonce up; wait for the first press, if it is under way."""
    ends_at = time.monotonic() + SECOND_PRESS_WAITS_SECONDS
    while True:
        try:
            idempotency.begin(
                session.merchant,
                key=_claim_key(choice.ticket),
                method_and_path=f"POST {links.PATH}/{session.id}",
                body={"card": choice.key},
            )
        except idempotency.IdempotencyKeyInUse:
            if time.monotonic() >= ends_at:
                raise
        else:
            return
        connections.give_back()
        time.sleep(SECOND_LOOK_SECONDS)


def _confirm(session: CheckoutSession, choice: Choice) -> PaymentIntent:
    plan = choice.plan
    body = {
        "payment_method_data": {"card": choice.offered, "billing_details": choice.billing},
        "payment_method_options": {"card": {"three_d_secure": _requested(session)}},
        "return_url": links.way_back(session.id, locale=choice.locale),
        "installments": plan.installments,
        "surcharge": plan.surcharge,
    }
    press = Press(_agree(session, choice), choice.network)
    try:
        return confirmation.confirm(session.merchant, session.intent_id, body, press=press)
    finally:
        if choice.offered.token and context.is_irrevocable():
            vault_cvc.drop(choice.offered.token)


def _requested(session: CheckoutSession) -> str:
    """Return the stronger wish of session and payment; the page cannot do without 3-D Secure."""
    wishes = (session.three_d_secure, session.intent.three_d_secure_requested)
    return (
        Authentication.REQUIRED if Authentication.REQUIRED in wishes else Authentication.AUTOMATIC
    )


def _agree(session: CheckoutSession, choice: Choice) -> Callable[[PaymentIntent], None]:
    """Return the look at the locked payment, in whose transaction the try is counted."""
    token = choice.offered.token

    def agree(intent: PaymentIntent) -> None:
        rows = intent.checkout_sessions.filter(
            id=session.id,
            status=SessionStatus.OPEN,
            expires_at__gt=clock.now(),
            tries__lt=settings.CHECKOUT_TRIES_MAX,
        )
        # A count that the shop has asked for was not chosen: it binds the next card too.
        kept = Case(
            When(chosen_installments=intent.installments, then=choice.plan.installments),
            default=F("chosen_installments"),
            output_field=SmallIntegerField(),
        )
        chosen = choice.plan.installments if intent.installments == 1 else kept
        if not held_cards.use(rows, token, chosen_installments=chosen):
            raise CardGone if token and rows.exists() else SessionOver
        if _terms(intent) != _terms(choice.ticket):
            raise TermsChanged

    return agree


def _terms(of: PaymentIntent | Ticket) -> tuple[int, str, int]:
    return of.amount, of.currency, of.installments
