"""Ways that a search leads straight to: one customer, one request, payments of an amount or a card.

They are for texts that are no id. Each is an address of a page that there is already.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from django.http import QueryDict
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from core import money
from core.rest import lists
from merchants.models import Member, RequestLog
from panel import permissions
from panel.merchants import links
from panel.permissions import Right
from payments.customers import search as customers
from payments.customers.models import Customer
from payments.intents.filters import PAYMENTS
from payments.intents.models import PaymentIntent

FOUR_DIGITS = re.compile("[0-9]{4}", re.ASCII)


class SearchWay(NamedTuple):
    """A list of payments.

    :param query: its filter, in the API's terms.
    """

    label: str | Promise
    query: str
    url: str


def to_one(member: Member, text: str) -> str:
    """Return the address of the one customer with an e-mail, or of the request with a key.

    Of several requests with one `Idempotency-Key` their list. Nothing if there is none, or the role
    may not see it.
    """
    return _to_request(member, text) or (_to_customer(member, text) if "@" in text else "")


def to_payments(member: Member, text: str) -> list[SearchWay]:
    """Return the lists of payments by last four digits, and by amount, that have a payment."""
    page = reverse("panel:payments", args=[member.merchant_id])
    return [
        SearchWay(label, query, f"{page}?{query}")
        for label, query in _narrowed(member, text)
        if _count(member, query)
    ]


def shortest(member: Member, ways: list[SearchWay]) -> str:
    """Return the address of the one payment that the first way leads to, else its list's."""
    rows = PaymentIntent.objects.for_merchant(member.merchant)
    is_one = len(ways) == 1 and _count(member, ways[0].query) == 1
    if not is_one:
        return ways[0].url
    [found] = lists.page(rows, QueryDict(ways[0].query), PAYMENTS, url="").rows
    return links.to(member, found.id)


def _narrowed(member: Member, text: str) -> Iterator[tuple[Promise, str]]:
    if FOUR_DIGITS.fullmatch(text):
        yield format_lazy("{} •••• {}", _("Payments with the card"), text), f"last4={text}"
    currency = member.merchant.default_currency
    try:
        amount = money.read(text, currency)
    except ValueError:
        return
    if amount > money.MAX_REQUESTED_MINOR:
        return
    written = money.written(amount, currency)
    query = QueryDict(mutable=True)
    query.update({"amount": str(amount), "currency": currency})
    yield format_lazy("{} {}", _("Payments of the amount"), written), query.urlencode()


def _count(member: Member, query: str) -> int:
    """Count the payments that a filter finds, up to two."""
    rows = PaymentIntent.objects.for_merchant(member.merchant)
    return lists.total(rows, QueryDict(query), PAYMENTS, most=1)


def _to_request(member: Member, text: str) -> str:
    if not permissions.may(member, Right.SEE_LOGS):
        return ""
    rows = RequestLog.objects.for_merchant(member.merchant).filter(idempotency_key=text)
    found = list(rows.order_by("-created_at").values_list("id", flat=True)[:2])
    if len(found) < 2:
        return links.to(member, found[0]) if found else ""
    query = QueryDict(mutable=True)
    query["idempotency_key"] = text
    page = reverse("panel:request_logs", args=[member.merchant_id])
    return f"{page}?{query.urlencode()}"


def _to_customer(member: Member, text: str) -> str:
    rows = Customer.objects.for_merchant(member.merchant).existing()
    found = list(customers.with_email(rows, text).values_list("id", flat=True)[:2])
    return links.to(member, found[0]) if len(found) == 1 else ""
