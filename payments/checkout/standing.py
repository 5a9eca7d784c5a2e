"""How a session stands: paid, ended, at the bank, or waiting for a card, with the form for it."""

from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from acquirers import routing
from core import clock, local_days, money
from core.errors import NotSetUp
from core.page_policy import STATUS_OF_A_CARD_FORM
from merchants import accounts
from merchants.accounts import MerchantRestricted
from payments.checkout import card_form, card_page, drafts, paying, tickets
from payments.checkout.card_form import NOTHING_TYPED, Checked
from payments.checkout.models import CheckoutSession
from payments.checkout.states import ExpirationReason, SessionStatus
from payments.checkout.tickets import Held, Step, Ticket
from payments.checkout.visits import Visit
from payments.intents.states import AttemptStatus, PaymentStatus
from payments.payer import payer_links

# In seconds: for how long a paid page leads to the shop.
LEADS_ON_SECONDS = 86_400
# Why the last try failed, in four sentences: none tells a thief which part was right.
DETAILS = ("incorrect_number", "incorrect_cvc", "expired_card")


def standing(visit: Visit, notice: str = "") -> HttpResponse:
    """Show how a session stands."""
    session = visit.session
    if is_open(session) and session.intent.status == PaymentStatus.REQUIRES_ACTION:
        return visit.show("action", hand_off=hand_off(session), notice=notice)
    return form_or_standing(visit, notice)


def form_or_standing(visit: Visit, notice: str = "") -> HttpResponse:
    """Show how a session stands; the form also to a payer whose bank waits for them."""
    session = visit.session
    if session.status == SessionStatus.COMPLETE:
        return _paid(visit, notice=notice)
    if is_open(session) and is_at_the_bank(session):
        return visit.show("waiting", notice=notice)
    if not is_open(session) or session.expires_at <= clock.now():
        is_used_up = session.expiration_reason == ExpirationReason.TOO_MANY_TRIES
        return visit.show("used_up" if is_used_up else "expired", status=410, notice=notice)
    try:
        accounts.require_charges(session.merchant)
        routing.routes_of(session.merchant).require_open(session.intent.currency)
    except (MerchantRestricted, NotSetUp):
        return visit.show("unavailable", status=503)
    return form(visit, notices=(notice, _why_it_failed(session)))


def is_open(session: CheckoutSession) -> bool:
    """Return whether a session has not ended; its time may be over."""
    return session.status == SessionStatus.OPEN


def is_at_the_bank(session: CheckoutSession) -> bool:
    """Return whether the bank is being asked, or has not answered yet."""
    if session.intent.status == PaymentStatus.PROCESSING:
        return True
    return session.intent.attempts.filter(status=AttemptStatus.PROCESSING).exists()


def hand_off(session: CheckoutSession) -> str:
    """Return the path of the hand-off page of a payment whose payer the bank waits for."""
    address: str = session.intent.next_action["redirect_to_url"]["url"]
    return address.removeprefix(settings.BASE_URL)


def _paid(visit: Visit, **facts: Any) -> HttpResponse:
    session = visit.session
    assert session.ended_at is not None  # It is complete.
    day = local_days.of(session.ended_at, session.merchant.timezone)
    paid_on = date_format(day, "DATE_FORMAT")
    return visit.show("complete", success_url=_success_url(session), paid_on=paid_on, **facts)


def _success_url(session: CheckoutSession) -> str | None:
    """Return the shop's address after the payment, for a day."""
    assert session.ended_at is not None  # It is complete.
    is_late = (clock.now() - session.ended_at).total_seconds() > LEADS_ON_SECONDS
    if not session.success_url or is_late:
        return None
    address = drafts.with_id(session.success_url, session.id)
    return payer_links.with_payment(address, session.intent_id)


def _why_it_failed(session: CheckoutSession) -> str:
    code = (session.intent.last_payment_error or {}).get("code")
    if code is None:
        return ""
    if code in DETAILS:
        return _("Check number, date and code, or use another card. Nothing was charged.")
    if code == "processing_error":
        return not_reached()
    if code.startswith("authentication_"):
        return _("You did not confirm the payment with your bank. Nothing was charged.")
    return _(
        "Your bank did not accept this payment. Use another card, or ask your bank. Nothing was "
        "charged."
    )


def lead_on(visit: Visit) -> HttpResponse:
    """Show a payer who has paid the way to the shop, and lead them there."""
    session = visit.session
    if session.status != SessionStatus.COMPLETE:
        return visit.see_page()
    success_url = _success_url(session)
    page = _paid(visit, leads_on=success_url is not None)
    if success_url:
        page["Refresh"] = f"0; url={success_url}"
    return page


def form(
    visit: Visit,
    *,
    notices: tuple[str, ...] = (),
    checked: Checked = NOTHING_TYPED,
    held: Held | None = None,
    status: int = STATUS_OF_A_CARD_FORM,
) -> HttpResponse:
    """Show the form that takes a card; with a held card, the rest of it."""
    session, intent = visit.session, visit.session.intent
    count, is_doubted = intent.installments, checked.is_doubted
    ticket = Ticket(intent.amount, intent.currency, held, count, is_doubted=is_doubted)
    asked = card_form.asked_of(card_form.known_of(session))
    fields = card_page.input_fields(asked, ticket, checked.texts, checked.problems)
    return visit.show(
        "card",
        status=status,
        notices=[notice for notice in notices if notice],
        fields=fields,
        asks_address=any(name in fields for name in card_form.ADDRESS),
        problems=[one for one in fields.values() if one.problem],
        held=held,
        installments=paying.asked_installments(session),
        countries=card_page.countries_of(session) if "country" in asked else [],
        form=tickets.sealed(session, Step.CARD, ticket),
        **card_page.lines_of(session),
    )


def not_reached() -> str:
    """Return the sentence to a payer whose bank was not asked."""
    return _("Your bank cannot be reached. Try again in a few minutes. Nothing was charged.")


def too_old() -> str:
    """Return the sentence to a payer who has to type the card again."""
    return _("This page was open too long. Nothing was charged. Type your card again.")


def changed(session: CheckoutSession, shown: Ticket) -> str:
    """Return the sentence to a payer whose page has shown another amount, or other terms."""
    if (session.intent.amount, session.intent.currency) == (shown.amount, shown.currency):
        return _("The number or the price of the installments has changed. Nothing was charged.")
    amount = money.written(session.intent.amount, session.intent.currency)
    return _("The shop has changed the amount to {amount}. Nothing was charged.").format(
        amount=amount
    )
