"""The two steps of a payment page: the card, and the choice of installments; then the press."""

from collections.abc import Callable
from functools import partial
from typing import Any

from django.conf import settings
from django.db import OperationalError
from django.http import HttpResponse
from django.utils.translation import gettext as _

from acquirers.slots import AcquirerBusy
from api import authentication
from core import context, money
from core.errors import DomainError, LockTimeout, ParameterMissing, UpstreamUnavailable
from merchants.accounts import MerchantRestricted
from payments.charging import methods
from payments.charging.installments import Wish
from payments.charging.methods import CardGone, OfferedCard
from payments.checkout import card_form, floods, held_cards, links, paying, standing, tickets
from payments.checkout.card_form import NOTHING_TYPED, Checked, Typed, Unreadable
from payments.checkout.models import CheckoutSession
from payments.checkout.paying import Choice, SentBefore, SessionOver, TermsChanged
from payments.checkout.states import COMPLETES_A_SESSION, SessionStatus
from payments.checkout.tickets import Held, Step, Ticket
from payments.checkout.visits import Visit
from payments.installments.plans import Option
from payments.intents.refusals import (
    CardNotSupported,
    InstallmentsNotAvailable,
    IntentUnexpectedState,
    SurchargeMismatch,
)
from payments.intents.states import PaymentStatus
from payments.payer import browsers


def take_card(visit: Visit) -> HttpResponse:
    """Charge the card that a payer has typed, or show what is missing."""
    session = visit.session
    if not standing.is_open(session):
        return visit.see_page()
    try:
        typed = card_form.read(visit.request, session)
    except Unreadable as refused:
        return _too_old(visit, refused.again)
    except DomainError as refused:
        unread = _("This form cannot be read. Nothing was charged. Type your card again.")
        return standing.form(visit, notices=(unread,), status=refused.http_status)
    if _has_changed(session, typed.ticket):
        return _changed(visit, typed)
    if typed.is_by_a_program and not typed.ticket.is_doubted:
        return _press_once_more(visit, typed)
    return _attended(visit, typed, partial(_pay_or_ask, visit, typed))


def _too_old(visit: Visit, again: Checked) -> HttpResponse:
    """Ask for the card again; not while the bank may be charging one."""
    if standing.is_at_the_bank(visit.session):
        return visit.see_page()
    return standing.form(visit, notices=(standing.too_old(),), checked=again, status=400)


def _press_once_more(visit: Visit, typed: Typed) -> HttpResponse:
    """Show the form again to a payer who seems to be a program; the card is not looked at."""
    again, once_more = typed.again, _("Press the button once more. Nothing was charged.")
    again.is_doubted = True
    return standing.form(
        visit, notices=(once_more,), checked=again, held=typed.ticket.held, status=400
    )


def _has_changed(session: CheckoutSession, ticket: Ticket) -> bool:
    return (session.intent.amount, session.intent.currency) != (ticket.amount, ticket.currency)


def _changed(visit: Visit, typed: Typed) -> HttpResponse:
    """Show the form again with what the payment costs by now; nothing was charged."""
    notice = standing.changed(visit.session, typed.ticket)
    return standing.form(visit, notices=(notice,), checked=typed.again, status=409)


def _pay_or_ask(visit: Visit, typed: Typed) -> HttpResponse:
    """Charge the card; ask first for what is missing, or for the installments."""
    session, ticket = visit.session, typed.ticket
    authentication.note_parts(session.merchant)
    if typed.is_by_a_program:
        floods.count_refused_press(session.id)
    checked = card_form.check(typed, card_form.known_of(session))
    offered = _offered(session, ticket, checked)
    ways = _ways(session, offered, checked)
    if offered is None or checked.problems:
        floods.count_refused_press(session.id)
        is_taken = offered is not None and "number" not in checked.problems
        held = held_cards.hold(session, offered) if offered and is_taken else None
        return standing.form(visit, checked=checked, held=held, status=400)
    if len(ways) > 1 or ways[0].surcharge:
        return _plans(visit, held_cards.hold(session, offered), checked.billing, ways)
    number = checked.card.number if checked.card else None
    key = paying.key_of(ticket, number)
    plan = Wish(ways[0].installments, 0)
    return _pay(
        visit, Choice(ticket, offered, key, checked.billing, plan, visit.locale, visit.network)
    )


def _offered(session: CheckoutSession, ticket: Ticket, checked: Checked) -> OfferedCard | None:
    """Return the card that is offered, None if there is none that the acquirer takes."""
    if ticket.held:
        return held_cards.offer_again(session, ticket.held)
    if checked.card is None:
        return None
    merchant, currency = session.merchant, session.intent.currency
    try:
        return methods.accept(merchant, checked.card, checked.billing, currency=currency)
    except CardNotSupported:
        checked.refuse("number", "not_taken" if settings.LIVEMODE else "not_taken_in_sandbox")
        return None


def _ways(session: CheckoutSession, offered: OfferedCard | None, checked: Checked) -> list[Option]:
    """Return the ways to pay with the card that is offered."""
    if offered is None:
        return []
    try:
        return paying.ways_to_pay(session, offered.shown)
    except InstallmentsNotAvailable:
        checked.refuse("number", "not_in_parts")
        return []


# --- The second step --------------------------------------------------------------------------


def _plans(
    visit: Visit, held: Held, billing: dict[str, Any], ways: list[Option], *, problem: str = ""
) -> HttpResponse:
    """Show the ways to pay with the held card, each with its whole."""
    intent = visit.session.intent
    plans = {str(one.installments): one.surcharge for one in ways}
    ticket = Ticket(intent.amount, intent.currency, held, intent.installments, plans, billing)
    return visit.show(
        "plans",
        status=400 if problem else 200,
        problem=problem,
        held=held,
        ways=[_way(one, intent.currency) for one in ways],
        form=tickets.sealed(visit.session, Step.PLAN, ticket),
    )


def _way(option: Option, currency: str) -> dict[str, Any]:
    first, part = option.parts
    return {
        "count": option.installments,
        "whole": money.written(option.whole, currency),
        "part": money.written(part, currency),
        "first": money.written(first, currency) if first != part else "",
    }


def take_choice(visit: Visit) -> HttpResponse:
    """Charge the held card as its payer has chosen."""
    session = visit.session
    if not standing.is_open(session):
        return visit.see_page()
    try:
        typed = card_form.read(visit.request, session, Step.PLAN)
    except Unreadable:
        return _too_old(visit, NOTHING_TYPED)
    except DomainError as refused:
        return standing.form(visit, notices=(standing.too_old(),), status=refused.http_status)
    return _attended(visit, typed, partial(_pay_as_chosen, visit, typed))


def _pay_as_chosen(visit: Visit, typed: Typed) -> HttpResponse:
    session, ticket, chosen = visit.session, typed.ticket, typed.texts["installments"]
    assert ticket.held is not None  # Every ticket of the second step has a card.
    authentication.note_parts(session.merchant)
    if chosen not in ticket.plans:
        ways = paying.ways_to_pay(session, ticket.held.shown)
        return _plans(visit, ticket.held, ticket.billing, ways, problem=_("Choose how to pay."))
    key, plan = paying.key_of(ticket, None), Wish(int(chosen), ticket.plans[chosen])
    offered = held_cards.offer_again(session, ticket.held)
    return _pay(
        visit, Choice(ticket, offered, key, ticket.billing, plan, visit.locale, visit.network)
    )


# --- The press --------------------------------------------------------------------------------


def _pay(visit: Visit, choice: Choice) -> HttpResponse:
    """Charge the card; who fails is counted by the network, and who succeeds never is."""
    floods.require_few_failures(choice.network, tries=visit.session.tries)
    try:
        paid = paying.pay(visit.session, choice)
    except (AcquirerBusy, LockTimeout, OperationalError) as refused:
        if context.is_irrevocable():
            raise
        if isinstance(refused, LockTimeout) and standing.is_at_the_bank(visit.session):
            return visit.see_page()  # The press of another form may charge at this moment.
        return _busy(visit, choice)
    back = f"{links.path(visit.session.id)}/back"
    if paid is not None and paid.status in COMPLETES_A_SESSION:
        return visit.see(back)  # The session is complete with its payment; that page looks again.
    now = visit.anew()
    if now.session.status == SessionStatus.COMPLETE:
        return visit.see(back)
    if _is_awaited_at_the_bank(now):
        return _to_the_bank(now, choice.ticket)
    is_unknown = now.session.intent.status == PaymentStatus.PROCESSING
    if now.session.tries > visit.session.tries and not is_unknown:
        floods.count_failure(choice.network)
    return visit.see_page()


def _to_the_bank(visit: Visit, ticket: Ticket) -> HttpResponse:
    """Lead the payer to the hand-off, known there by this press if the card goes on from there."""
    return _known(visit.see(standing.hand_off(visit.session)), visit, ticket)


def _known(answer: HttpResponse, visit: Visit, ticket: Ticket) -> HttpResponse:
    intent = visit.session.intent
    attempt = intent.attempts.get(id=intent.attempt_ids[-1])
    browsers.keep_of_press(answer, attempt, ticket.nonce)
    return answer


def _is_awaited_at_the_bank(visit: Visit) -> bool:
    session = visit.session
    return standing.is_open(session) and session.intent.status == PaymentStatus.REQUIRES_ACTION


def _busy(visit: Visit, choice: Choice) -> HttpResponse:
    """Let the payer press again by hand, without the card: nothing was charged so far."""
    session, plan = visit.session, choice.plan
    held = held_cards.hold(session, choice.offered)
    plans = {str(plan.installments): plan.surcharge or 0}
    shown = choice.ticket
    ticket = Ticket(shown.amount, shown.currency, held, shown.installments, plans, choice.billing)
    page = visit.show(
        "busy",
        status=503,
        held=held,
        installments=plan.installments,
        form=tickets.sealed(session, Step.PLAN, ticket),
    )
    page["Retry-After"] = str(AcquirerBusy.retry_after_seconds)
    return page


def _not_now(visit: Visit, typed: Typed) -> HttpResponse:
    """Show the form again where not even a card can be held: another holds the session's row."""
    if standing.is_at_the_bank(visit.session):
        return visit.see_page()
    return standing.form(visit, notices=(standing.not_reached(),), checked=typed.again, status=503)


def _attended(visit: Visit, typed: Typed, pay: Callable[[], HttpResponse]) -> HttpResponse:
    """Return the page for a press, or for the reason why it charged nothing."""
    try:
        return pay()
    except SentBefore:
        now = visit.anew()
        page = standing.standing(now, _("This form was already sent. Here is its result."))
        return _known(page, now, typed.ticket) if _is_awaited_at_the_bank(now) else page
    except (SessionOver, IntentUnexpectedState):
        return visit.see_page()
    except (TermsChanged, SurchargeMismatch, InstallmentsNotAvailable):
        return _changed(visit.anew(), typed)
    except (CardGone, ParameterMissing):
        if paying.was_sent(visit.session, typed.ticket):
            # The first press has used the card, and this is its result.
            now = visit.anew()
            is_awaited = _is_awaited_at_the_bank(now)
            return _to_the_bank(now, typed.ticket) if is_awaited else visit.see_page()
        return _too_old(visit, typed.again)
    except (MerchantRestricted, UpstreamUnavailable):
        return visit.show("unavailable", status=503)
    except (LockTimeout, OperationalError):
        if context.is_irrevocable():
            raise
        return _not_now(visit, typed)
