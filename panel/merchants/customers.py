"""Customers: the list with the API's own filters, and one of them with the payments."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from core.rest.lists import ListSpec
from merchants.models import Member
from panel import permissions
from panel.merchants import details, links, list_pages, listing
from panel.merchants.customer_forms import CustomerListForm
from panel.merchants.list_pages import ListPage
from panel.merchants.pages import page
from panel.permissions import Right
from payments.customers import render
from payments.customers.models import Customer
from payments.intents.models import PaymentIntent

PATH = "/v1/customers"


CUSTOMERS = ListPage("customers", CustomerListForm, "panel/customers/list.html", PATH)


@page()
def listed(request: HttpRequest, member: Member) -> HttpResponse:
    """Show the merchant's customers, narrowed by the filters of the API's list."""
    every = Customer.objects.for_merchant(member.merchant)
    may = permissions.may(member, Right.CHANGE_CUSTOMERS)
    return list_pages.answer(
        request, member, CUSTOMERS, every.existing(), cursors=every, may_change=may
    )


@page()
def shown(request: HttpRequest, member: Member, customer: str) -> HttpResponse:
    """Show a customer with the payments; of one who was deleted the payments alone."""
    row: Customer = listing.find(Customer.objects.for_merchant(member.merchant), customer)
    body = render.customer(row)
    is_deleted = row.deleted_at is not None
    payments = PaymentIntent.objects.for_merchant(member.merchant).filter(customer=row.pk)
    found = details.below(request, payments, ListSpec())
    if "page" in found:
        found["payments"] = [(one, links.to(member, one.id)) for one in found["page"].rows]
    return details.answer(
        request, "panel/customers/customer.html", row, PATH,
        customer=row,
        body=body,
        is_deleted=is_deleted,
        places=[] if is_deleted else _places(body),
        may_change=permissions.may(member, Right.CHANGE_CUSTOMERS) and not is_deleted,
        **found,
    )  # fmt: skip


def _places(body: dict[str, Any]) -> list[tuple[Any, list[str]]]:
    """Return the two addresses as lines; one of which nothing is known is left out."""
    shipping = body["shipping"] or {}
    to = {"name": shipping.get("name"), "phone": shipping.get("phone")}
    places = (
        (_("Address"), body["address"] or {}),
        (_("Shipping"), to | (shipping.get("address") or {})),
    )
    lines = [(label, [text for text in place.values() if text]) for label, place in places]
    return [(label, found) for label, found in lines if found]
