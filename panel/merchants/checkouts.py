"""Payment pages: the list of checkout sessions, and one of them with its link."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from merchants.models import Member
from panel import permissions
from panel.merchants import checkout_words, details, links, list_pages, listing
from panel.merchants.list_pages import ListPage
from panel.merchants.money_filters import CheckoutForm
from panel.merchants.pages import page
from panel.merchants.payment_words import standing
from panel.permissions import Right
from payments.checkout import ending, render, sessions
from payments.checkout.models import CheckoutSession
from payments.checkout.states import SessionStatus

PATH = "/v1/checkout/sessions"
SESSIONS = ListPage(
    "payment_pages", CheckoutForm, "panel/checkout/list.html", PATH, is_counted=True,
    statuses=SessionStatus.values,
)  # fmt: skip


@page()
def payment_pages(request: HttpRequest, member: Member) -> HttpResponse:
    """Show the merchant's payment pages."""
    may = permissions.may(member, Right.MOVE_MONEY)
    return list_pages.answer(request, member, SESSIONS, sessions.of(member.merchant), may_ask=may)


@page()
def payment_page(request: HttpRequest, member: Member, session: str) -> HttpResponse:
    """Show a payment page of the merchant's: its link while it is open, and its payment."""
    row = find(member, session)
    body = render.session(row)
    may = permissions.may(member, Right.MOVE_MONEY)
    return details.answer(
        request, "panel/checkout/payment_page.html", row, PATH,
        **head(row),
        link=body["url"],
        may_end=may and row.status == SessionStatus.OPEN,
        payment_standing=standing(row.intent),
        payment_url=links.to(member, row.intent_id),
        customer_url=links.to(member, row.customer_id),
        page_language=checkout_words.LANGUAGES.get(row.locale, row.locale),
        installments=checkout_words.installments(row),
        three_d_secure=checkout_words.AUTHENTICATIONS.get(row.three_d_secure, row.three_d_secure),
        told=details.events(member, row.id),
        json=body,
    )  # fmt: skip


def find(member: Member, session: str) -> CheckoutSession:
    """Return a session of the member's merchant with its payment.

    :raises Http404: there is none.
    """
    found: CheckoutSession = listing.find(sessions.of(member.merchant), session)
    return found


def address(member: Member, session_id: str) -> str:
    """Return the address of a session's page in the panel."""
    return reverse("panel:payment_page", args=[member.merchant_id, session_id])


def head(session: CheckoutSession) -> dict[str, Any]:
    """Return what each page about a session begins with."""
    return {
        "session": session,
        "payment": session.intent,
        "standing": checkout_words.standing(session),
    }


def why_not_end(session: CheckoutSession) -> Any:
    """Return why a session cannot be ended as it is; nothing if it can."""
    if session.status != SessionStatus.OPEN:
        return checkout_words.HAS_ENDED
    return checkout_words.PAYER_IS_PAYING if ending.is_busy(session) else ""
