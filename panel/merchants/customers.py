"""Customers: the list with the API's own filters, and one of them with the payments."""

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.utils.translation import gettext_lazy as _

from core.errors import DomainError
from core.rest.lists import ListSpec
from merchants.models import Member
from panel import permissions
from panel.merchants import addresses, calls, links, listing
from panel.merchants.customer_forms import CustomerFilterForm
from panel.merchants.pages import page, show
from panel.patience import TookTooLong, limited
from panel.permissions import Right
from payments.customers import render
from payments.customers.filters import CUSTOMERS
from payments.customers.models import Customer
from payments.intents.models import PaymentIntent

PATH = "/v1/customers"


@page()
def listed(request: HttpRequest, member: Member) -> HttpResponse:
    """Show the merchant's customers, narrowed by the filters of the API's list."""
    form = _form(request, member)
    shown: dict[str, Any] = {
        "form": form,
        "call": calls.curl("GET", PATH),
        "may_change": permissions.may(member, Right.CHANGE_CUSTOMERS),
    }
    if form.is_valid() and (query := form.in_the_apis_terms(request.GET)):
        return HttpResponseRedirect(f"{request.path}?{query}")
    if not form.errors:
        every = Customer.objects.for_merchant(member.merchant)
        try:
            with limited():
                rows = every.existing()
                shown["page"] = listing.page(rows, request.GET, CUSTOMERS, cursors=every)
            wanted = listing.asked(request.GET, CUSTOMERS)
            shown["export_url"] = links.to_export(member, "customers", wanted)
        except TookTooLong:
            form.add_error(None, _("This took too long. Narrow the time, and try again."))
        except DomainError as problem:
            form.refuse(problem)
    shown["is_filtered"] = any(form.data.get(name) for name in form.fields)
    status = 400 if form.errors else 200
    return show(request, "panel/customers/list.html", shown, status=status)


@page()
def shown(request: HttpRequest, member: Member, customer: str) -> HttpResponse:
    """Show a customer with the payments; of one who was deleted the payments alone."""
    row: Customer = listing.find(Customer.objects.for_merchant(member.merchant), customer)
    body = render.customer(row)
    is_deleted = row.deleted_at is not None
    facts: dict[str, Any] = {
        "customer": row,
        "body": body,
        "is_deleted": is_deleted,
        "places": [] if is_deleted else _places(body),
        "may_change": permissions.may(member, Right.CHANGE_CUSTOMERS) and not is_deleted,
        "call": calls.curl("GET", f"{PATH}/{row.id}"),
    }
    status = 200
    payments = PaymentIntent.objects.for_merchant(member.merchant).filter(customer=row.pk)
    try:
        with limited():
            found = listing.page(payments, request.GET, ListSpec())
        facts["page"] = found
        facts["payments"] = [(one, links.to(member, one.id)) for one in found.rows]
    except TookTooLong:
        facts["problem"], status = _("This took too long. Try again in a moment."), 503
    except DomainError:
        facts["problem"], status = listing.NO_SUCH_PLACE, 400
    return show(request, "panel/customers/customer.html", facts, status=status)


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


def _form(request: HttpRequest, member: Member) -> CustomerFilterForm:
    zone = member.merchant.timezone
    problem = addresses.unsafe(request)
    form = CustomerFilterForm(QueryDict() if problem else request.GET, zone=zone)
    if problem:
        form.add_error(None, str(problem))
    return form
