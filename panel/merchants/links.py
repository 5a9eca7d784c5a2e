"""Ways from an id to its page, for those who may open it."""

from django.http import QueryDict
from django.urls import reverse

from merchants.models import Member
from panel import permissions

# The names of the pages of one thing, by the beginning of the thing's id.
PAGES = {
    "req": "request_log",
    "evt": "event",
    "whd": "delivery",
    "we": "endpoint",
    "key": "key",
    "aud": "audit_entry",
    "cus": "customer",
    "pi": "payment",
    "cs": "payment_page",
    "re": "refund",
    "dp": "dispute",
    "po": "payout",
    "tu": "topup",
    "run": "settlement",
}


def to(member: Member, object_id: str | None) -> str:
    """Return the address of an object's page; nothing if it has none that the member may open."""
    if object_id == member.merchant_id:
        return reverse("panel:overview", args=[member.merchant_id])
    page = PAGES.get((object_id or "").partition("_")[0])
    if page not in permissions.PAGES or not permissions.may_open(member, page):
        return ""
    return reverse(f"panel:{page}", args=[member.merchant_id, object_id])


def to_export(member: Member, page: str, query: QueryDict) -> str:
    """Return the address of the export of a list, with its filter; nothing if the
    list has none, or none for the member's role.

    :param page: the name of the list's address.
    :param query: the list's filter, in the API's terms.
    """
    name = f"export_{page}"
    if name not in permissions.PAGES or not permissions.may_open(member, name):
        return ""
    way, asked = reverse(f"panel:{name}", args=[member.merchant_id]), query.urlencode()
    return f"{way}?{asked}" if asked else way
