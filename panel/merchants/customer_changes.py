"""Customers are created, changed and deleted, by the functions that the API calls."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext

from merchants.models import Member
from panel import once
from panel.merchants import calls, listing
from panel.merchants.customer_forms import CustomerForm
from panel.merchants.customers import PATH
from panel.merchants.endpoint_forms import REFUSALS, typed
from panel.merchants.pages import page, show
from panel.once import Made
from payments.customers import customers
from payments.customers.forms import CreateCustomerForm, UpdateCustomerForm
from payments.customers.models import Customer
from payments.intents.models import PaymentIntent

# So many payments are counted on the page that asks before deleting.
COUNTED_MOST = 1_000


@page("POST")
def create(request: HttpRequest, member: Member) -> HttpResponse:
    """Ask for a customer's values, and write the customer down."""
    form = CustomerForm(typed(request) if request.method == "POST" else None)

    def change() -> Made:
        made = customers.create(member.merchant, CreateCustomerForm.read(form.body))
        messages.success(request, gettext("The customer was created."))
        return _see_other(_address(member, made.id)), made.id

    def act() -> HttpResponse:
        return once.make(
            request, member, change, again=lambda kept: _see_other(_address(member, kept))
        )

    back = reverse("panel:customers", args=[member.merchant_id])
    shown = {"back": back, "call": calls.curl("POST", PATH, [("email", "payer@shop.example")])}
    return _sent(request, form, act) or _form(request, form, **shown)


@page("POST")
def edit(request: HttpRequest, member: Member, customer: str) -> HttpResponse:
    """Show a customer's values, and change them."""
    row = _existing(member, customer)
    form = CustomerForm(typed(request) if request.method == "POST" else None, customer=row)

    def change() -> None:
        customers.update(member.merchant, row.id, UpdateCustomerForm.read(form.body))
        messages.success(request, gettext("The change was saved."))

    def act() -> HttpResponse:
        return once.run(request, member, change, done=_address(member, row.id))

    call = calls.curl("POST", f"{PATH}/{row.id}", [("name", "…")])
    shown = {"customer": row, "back": _address(member, row.id), "call": call}
    return _sent(request, form, act) or _form(request, form, **shown)


@page("POST")
def delete(request: HttpRequest, member: Member, customer: str) -> HttpResponse:
    """Say what is forgotten and what stays, and delete the customer."""
    rows = Customer.objects.for_merchant(member.merchant)
    row: Customer = listing.find(rows, customer)
    done = _address(member, row.id)
    if row.deleted_at is not None:
        return _see_other(done)

    def change() -> None:
        customers.delete(member.merchant, row.id)
        messages.success(request, gettext("The customer was deleted."))

    if request.method == "POST":
        return once.run(request, member, change, done=done)
    payments = PaymentIntent.objects.for_merchant(member.merchant).filter(customer=row.pk)
    shown = {
        "customer": row,
        "payments": payments.values("pk")[:COUNTED_MOST].count(),
        "most": COUNTED_MOST,
        "back": done,
        "token": once.token(request),
        "call": calls.curl("DELETE", f"{PATH}/{row.id}"),
    }
    return show(request, "panel/customers/delete.html", shown)


def _sent(
    request: HttpRequest, form: CustomerForm, act: Callable[[], HttpResponse]
) -> HttpResponse | None:
    """Do what a form asks for; None if it was not sent, or was refused and says why."""
    if request.method != "POST" or not form.data or not form.is_valid():
        return None
    try:
        return act()
    except REFUSALS as problem:
        form.refuse(problem)
        return None


def _form(request: HttpRequest, form: CustomerForm, **shown: Any) -> HttpResponse:
    facts = {"form": form, "token": once.token(request), **shown}
    status = 400 if request.method == "POST" else 200
    return show(request, "panel/customers/form.html", facts, status=status)


def _existing(member: Member, customer: str) -> Customer:
    row: Customer = listing.find(Customer.objects.for_merchant(member.merchant), customer)
    if row.deleted_at is not None:
        raise Http404
    return row


def _address(member: Member, customer: str) -> str:
    return reverse("panel:customer", args=[member.merchant_id, customer])


def _see_other(address: str) -> HttpResponse:
    response = HttpResponseRedirect(address)
    response.status_code = 303
    return response
