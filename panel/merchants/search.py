"""Search over everything that a merchant has: ids, e-mail addresses, starts of descriptions."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from core.detection import contains_encoded_card_number
from core.errors import DomainError
from core.folding import trimmed
from core.rest import lists
from core.rest.list_query import CURSORS, SEARCH_MAX
from core.secrets_in_text import holds_secret_key
from events.models import Event
from ledger import transactions
from ledger.models import Movement, Run
from merchants.models import ApiKey, AuditEntry, Invitation, Member, Merchant, RequestLog
from panel import permissions
from panel.audit_words import in_words
from panel.merchants import links, search_ways
from panel.merchants.pages import asks_for_part, page, show
from panel.patience import TookTooLong, limited
from panel.permissions import Right
from payments.checkout import sessions
from payments.checkout.models import CheckoutSession
from payments.customers.models import Customer
from payments.disputes.models import Dispute
from payments.intents.models import PaymentIntent
from payments.refunds.models import Refund
from payments.search.sources import sources
from payouts.models import Payout
from payouts.topups.models import Topup
from webhooks.models import Delivery, Endpoint

ROWS = "25"
TEMPLATE = "panel/search.html"


class SearchHit(NamedTuple):
    """A row of the results.

    :param text: by which it differs from others of its kind: a description, an address, a path.
    :param url: of its page, if it has one.
    """

    kind: str | Promise
    id: str
    text: str
    created_at: datetime
    status: str = ""
    amount: int | None = None
    currency: str = ""
    url: str = ""


@page()
def search(request: HttpRequest, member: Member) -> HttpResponse:
    """Show what one text finds, newest first; the text stands in the address (`q`).

    A whole id leads to the page of its object, without a look at a list.
    """
    text = trimmed(request.GET.get("q", ""))
    if problem := _problem(text):
        # Without the text: it may be a card number, and the page may be printed or photographed.
        return show(request, TEMPLATE, {"problem": problem}, part="found", status=400)
    if not text:
        return show(request, TEMPLATE, {}, part="found")
    is_part = asks_for_part(request)
    try:
        with limited():
            by_id = _by_id(member, text)
            found = by_id or _in_lists(member, request.GET, text)
            rows = [_row(row)._replace(url=_url(member, row)) for row in found.rows]
            # An id may have been an `Idempotency-Key` too.
            way = _own_page(found.rows, rows, text)
            if not (by_id or way or is_part):
                way = search_ways.to_one(member, text)
            ways = [] if by_id or way else search_ways.to_payments(member, text)
    except TookTooLong:
        return show(request, TEMPLATE, {"problem": TOO_LONG}, part="found", status=400)
    except DomainError:
        return show(request, TEMPLATE, {"problem": NO_SUCH_PLACE}, part="found", status=400)
    if ways and not rows and not is_part:
        way = search_ways.shortest(member, ways)
    if way and not is_part:
        return redirect(way)
    shown = {"q": text, "rows": rows, "page": found, "ways": ways}
    return show(request, TEMPLATE, shown, part="found")


NO_SUCH_PLACE = _("This place of the list is gone. Search again.")
TOO_LONG = _("This took too long")


def _problem(text: str) -> str | Promise | None:
    if contains_encoded_card_number(text):
        return _(
            "This looks like a card number, so we did not search for it. Never type a whole card"
            " number here: search by the payment's id, the payer's e-mail, or a description."
        )
    if holds_secret_key(text):
        return _(
            "This looks like a secret key, so we did not search for it. If it has been in a place"
            " where others could see it, roll it."
        )
    if len(text) > SEARCH_MAX:
        return _("Search for a shorter text: 255 characters at most.")
    return None


class SearchedNoun(NamedTuple):
    """A kind of object that is found by its id alone."""

    right: Right
    rows: Callable[[Merchant], QuerySet[Any]]


KINDS: dict[str, SearchedNoun] = {
    "req": SearchedNoun(Right.SEE_LOGS, RequestLog.objects.for_merchant),
    "evt": SearchedNoun(Right.SEE_LOGS, Event.objects.for_merchant),
    "key": SearchedNoun(Right.DEVELOP, ApiKey.objects.for_merchant),
    "we": SearchedNoun(Right.DEVELOP, Endpoint.objects.filter(deleted_at=None).for_merchant),
    "cs": SearchedNoun(Right.SEE, sessions.of),
    "txn": SearchedNoun(Right.SEE_BALANCE, transactions.of_merchant),
    "po": SearchedNoun(Right.SEE_BALANCE, Payout.objects.for_merchant),
    "tu": SearchedNoun(Right.SEE_BALANCE, Topup.objects.for_merchant),
    "run": SearchedNoun(Right.SEE_BALANCE, Run.objects.for_merchant),
    "whd": SearchedNoun(Right.SEE_LOGS, Delivery.objects.for_merchant),
    "aud": SearchedNoun(Right.OWN, AuditEntry.objects.for_merchant),
    "inv": SearchedNoun(Right.OWN, Invitation.objects.for_merchant),
    "mer": SearchedNoun(Right.SEE, lambda merchant: Merchant.objects.filter(pk=merchant.pk)),
}


def _by_id(member: Member, text: str) -> lists.Page | None:
    """Return the object with this id; None if the text is no id of these kinds.

    Another merchant's, an unknown one, and one that the role may not see are all nothing.
    """
    kind = KINDS.get(text.partition("_")[0]) if "_" in text else None
    if kind is None:
        return None
    may_see = permissions.may(member, kind.right)
    rows: Sequence[Model] = list(kind.rows(member.merchant).filter(id=text)) if may_see else []
    return lists.Page("", rows, has_more=False)


def _in_lists(member: Member, query: QueryDict, text: str) -> lists.Page:
    payments = PaymentIntent.objects.for_merchant(member.merchant)
    asked = QueryDict(mutable=True)
    asked.update({"q": text, "limit": ROWS})
    for name in CURSORS:
        if cursor := query.get(name):
            asked[name] = cursor
    # All roles see these kinds.
    return lists.merged(sources(payments, payments, may_read=lambda _scope: True), asked, url="")


def _url(member: Member, row: Any) -> str:
    """Return the address of a row's page: of an invitation the team."""
    if isinstance(row, Invitation):
        return reverse("panel:team", args=[member.merchant_id])
    return links.to(member, row.id)


def _own_page(rows: Sequence[Any], found: Sequence[SearchHit], text: str) -> str:
    """Return the address of the page of the object that has the text as its id; or nothing.

    With a refund its payment is found too.
    """
    own = [
        hit.url
        for row, hit in zip(rows, found, strict=True)
        if hit.id == text and not isinstance(row, Invitation)
    ]
    return own[0] if own else ""


def _row(row: Any) -> SearchHit:
    found = _TEXTS[type(row)](row)
    paid = row.intent if isinstance(row, CheckoutSession) else row
    status, amount = getattr(row, "status", ""), getattr(paid, "amount", None)
    if isinstance(row, RequestLog):
        status = ""  # Of HTTP, and in the text.
    return found._replace(status=status, amount=amount, currency=getattr(paid, "currency", ""))


def _plain(kind: Promise, text_of: Callable[[Any], str | None]) -> Callable[[Any], SearchHit]:
    return lambda row: SearchHit(kind, row.id, text_of(row) or "", row.created_at)


_TEXTS: dict[type[Model], Callable[[Any], SearchHit]] = {
    PaymentIntent: _plain(_("Payment"), lambda row: row.description),
    CheckoutSession: _plain(_("Payment page"), lambda row: row.intent.description),
    Refund: _plain(_("Refund"), lambda row: row.reason),
    Dispute: _plain(_("Dispute"), lambda row: row.reason),
    Customer: _plain(_("Customer"), lambda row: row.email or row.name),
    RequestLog: _plain(
        _("Request"), lambda row: f"{row.method or ''} {row.path} {row.status or ''}".strip()
    ),
    Event: _plain(_("Event"), lambda row: row.type),
    Endpoint: _plain(_("Webhook"), lambda row: row.url),
    ApiKey: _plain(_("API key"), str),
    Movement: _plain(_("Balance transaction"), lambda row: row.type),
    Payout: _plain(_("Payout"), lambda row: row.description),
    Topup: _plain(_("Top-up"), lambda row: row.description or row.reference),
    Run: _plain(_("Settlement"), lambda row: row.date.isoformat()),
    Delivery: _plain(_("Delivery"), lambda row: f"{row.event_type} {row.url}"),
    AuditEntry: _plain(_("Audit log"), lambda row: str(in_words(row.action))),
    Invitation: _plain(_("Invitation"), lambda row: row.email),
    Merchant: _plain(_("Merchant"), str),
}
