"""The desk's first page: one search over all merchants, by whole ids, references and addresses."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from django.apps import apps
from django.contrib import admin
from django.db import connection
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import path

from core import ids
from core.detection import contains_card_number
from core.folding import trimmed
from core.names import email_key
from merchants.models import ApiKey, Merchant, User
from panel.operators import desk
from panel.operators.desk import Section
from panel.patience import TookTooLong, limited

TEXT_MAX = 255
CARD_TYPED = (
    "That is a card number. It was not looked for, and is kept nowhere here; the browser's history"
    " may have it. Look for the payment's id or the bank's reference."
)


@desk.page("merchants.view_merchant")
def search(request: HttpRequest) -> HttpResponse:
    """Find what one text names; only kinds that the person may see."""
    text = trimmed(request.GET.get("q", ""))
    if contains_card_number(text):
        return _page(request, 400, error=CARD_TYPED)
    if len(text) > TEXT_MAX:
        return _page(request, 400, error=f"Search for {TEXT_MAX} characters at most.")
    if not text:
        return _page(request)
    try:
        with limited():
            found = find(text, desk.operator(request))
    except TookTooLong:
        return _page(request, 503, text=text, error="That took too long. Search for a whole id.")
    return _page(request, text=text, found=found)


def _page(request: HttpRequest, status: int = 200, **shown: object) -> HttpResponse:
    return desk.show(request, "desk/search.html", "Search", status, **shown)


SECTION = Section("Search", [path("", search, name="desk_search")])


# By the prefix of their ids.
KINDS = {
    "att": "intents.Attempt",
    "aud": "merchants.AuditEntry",
    "case": "cases.Case",
    "cus": "customers.Customer",
    "cs": "checkout.CheckoutSession",
    "ddl": "disputes.DisputeDelivery",
    "dp": "disputes.Dispute",
    "evt": "events.Event",
    "key": "merchants.ApiKey",
    "mer": "merchants.Merchant",
    "mod": "intents.Modification",
    "pi": "intents.PaymentIntent",
    "re": "refunds.Refund",
    "req": "merchants.RequestLog",
    "term": "acquirers.Terminal",
    "txn": "ledger.Movement",
    "we": "webhooks.Endpoint",
    "whd": "webhooks.Delivery",
}
# The columns that hold a bank's word for a row.
REFERENCES = (
    ("intents.Attempt", "acquirer_reference"),
    ("refunds.Refund", "acquirer_reference"),
    ("disputes.Dispute", "bank_reference"),
)
# A request's rows are written while it lasts; ids tell their moment.
LEFT_BY_REQUEST = (("events.Event", "evt"), ("merchants.AuditEntry", "aud"))
REQUEST_MS_MAX = 15 * 60 * 1000
EACH_MAX = 20
# One look into the index for each merchant: it begins with the merchant.
BY_EMAIL = (
    (
        "customers.Customer",
        "SELECT found.id FROM merchants_merchant m CROSS JOIN LATERAL (SELECT id, created_at"
        " FROM customers_customer WHERE merchant_id = m.id AND email_key = %(email)s"
        " ORDER BY created_at DESC LIMIT %(most)s) found LIMIT %(most)s",
    ),
    (
        "intents.PaymentIntent",
        "SELECT found.id FROM merchants_merchant m CROSS JOIN LATERAL (SELECT id"
        " FROM intents_paymentintent WHERE merchant_id = m.id"
        " AND lower((billing_details ->> 'email') COLLATE \"C\") = %(email)s LIMIT %(most)s) found"
        " LIMIT %(most)s",
    ),
)


class SearchHit(NamedTuple):
    """A row that a search found; `url` is None if it has no page that the person may open."""

    kind: str
    id: str
    told: str
    merchant: str
    url: str | None


def find(text: str, operator: User) -> list[SearchHit]:
    """Return what a text names, of the kinds that the operator may see.

    :param text: a whole id, an acquirer's reference, an e-mail address, or a `req_` id.
    """
    rows = _with_email(text, operator) if "@" in text else _with_id(text, operator)
    return [_shown(row) for row in rows]


def _with_id(text: str, operator: User) -> Iterator[Model]:
    prefix, underscore, _rest = text.partition("_")
    if underscore and prefix in KINDS:
        yield from _rows(KINDS[prefix], operator, pk=text)
        if prefix == "req":
            yield from _left_by(text, operator)
        return
    for label, column in REFERENCES:
        yield from _rows(label, operator, **{column: text})


def _with_email(text: str, operator: User) -> Iterator[Model]:
    key = email_key(text)
    yield from _rows("merchants.User", operator, email=key)
    # An account's own address is kept as it was written.
    spelled = Q(email__iexact=text) | Q(email__iexact=key)
    yield from _rows("merchants.Merchant", operator, spelled)
    for label, statement in BY_EMAIL:
        if _may_see(label, operator):
            with connection.cursor() as cursor:
                cursor.execute(statement, {"email": key, "most": EACH_MAX})
                found = [row_id for (row_id,) in cursor.fetchall()]
            yield from _rows(label, operator, pk__in=found)


def _left_by(request_id: str, operator: User) -> Iterator[Model]:
    """Yield the events and audit rows of a request: written between its beginning and its end."""
    written = request_id.partition("_")[2][: ids.TIME_CHARACTERS]
    if len(written) < ids.TIME_CHARACTERS or not set(written) <= set(ids.ALPHABET):
        return
    begun = 0
    for character in written:
        begun = begun * 62 + ids.ALPHABET.index(character)
    for label, prefix in LEFT_BY_REQUEST:
        first, last = (
            f"{prefix}_{ids.base62(moment, ids.TIME_CHARACTERS)}"
            for moment in (begun, begun + REQUEST_MS_MAX)
        )
        within = {"pk__gte": first, "pk__lt": last}
        yield from _rows(label, operator, request_id=request_id, **within)


def _rows(label: str, operator: User, *conditions: Q, **wanted: Any) -> Iterable[Model]:
    if not _may_see(label, operator):
        return []
    rows: QuerySet[Any] = apps.get_model(label)._default_manager.filter(*conditions, **wanted)
    if any(field.name == "merchant" for field in rows.model._meta.fields):
        rows = rows.select_related("merchant")
    return rows.order_by("-pk")[:EACH_MAX]


def _may_see(label: str, operator: User) -> bool:
    room, _, model = label.partition(".")
    return room in apps.app_configs and operator.has_perm(f"{room}.view_{model.lower()}")


def _shown(row: Any) -> SearchHit:
    merchant = row if isinstance(row, Merchant) else getattr(row, "merchant", None)
    told = getattr(row, "status", None) or getattr(row, "type", None) or getattr(row, "action", "")
    name = row.email if isinstance(row, User) else str(row.pk)
    kind = str(row._meta.verbose_name).capitalize()
    return SearchHit(kind, name, str(told), merchant.name if merchant else "", _page_of(row))


def _page_of(row: Any) -> str | None:
    match row:
        case Merchant():
            return desk.address("desk_merchant", row.pk)
        case ApiKey():
            return desk.address("desk_merchant", row.merchant_id)
        case User():
            return desk.address("desk_person", row.pk)
    if row._meta.label == "merchants.AuditEntry":
        return desk.address("desk_audit_entry", row.pk)
    if row._meta.label == "cases.Case":
        return desk.address("desk_case", row.pk)
    if not admin.site.is_registered(type(row)):
        return None
    return desk.address(f"{row._meta.app_label}_{row._meta.model_name}_change", row.pk)
