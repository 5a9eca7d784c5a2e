"""Customers are created, changed and deleted, by the functions that the API calls."""

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext

from merchants.models import Member
from panel import once
from panel.merchants import acts, calls, listing
from panel.merchants.customer_forms import CustomerForm
from panel.merchants.customers import PATH
from panel.merchants.pages import page, show
from panel.once import Made
from payments.customers import customers
from payments.customers.forms import CreateCustomerForm, UpdateCustomerForm
from payments.customers.models import Customer
from payments.intents.models import PaymentIntent

TEMPLATE = "panel/customers/form.html"
# So many payments are counted on the page that asks before deleting.
COUNTED_MOST = 1_000


@page("POST")
def create_customer(request: HttpRequest, member: Member) -> HttpResponse:
    """Ask for a customer's values, and write the customer down."""
    form = CustomerForm(acts.sent(request))

    def change() -> Made:
        made = customers.create(member.merchant, CreateCustomerForm.read(form.body))
        messages.success(request, gettext("The customer was created."))
        return once.see_other(_address(member, made.id)), made.id

    def act() -> HttpResponse:
        return once.make(
            request, member, change, again=lambda kept: once.see_other(_address(member, kept))
        )

    back = reverse("panel:customers", args=[member.merchant_id])
    shown = {"back": back, "call": calls.curl("POST", PATH, [("email", "payer@shop.example")])}
    return acts.done(request, form, act) or acts.ask(request, TEMPLATE, form, **shown)


@page("POST")
def edit_customer(request: HttpRequest, member: Member, customer: str) -> HttpResponse:
    """Show a customer's values, and change them."""
    row = _existing(member, customer)
    form = CustomerForm(acts.sent(request), customer=row)

    def change() -> None:
        customers.update(member.merchant, row.id, UpdateCustomerForm.read(form.body))
        messages.success(request, gettext("The change was saved."))

    def act() -> HttpResponse:
        return once.run(request, member, change, done=_address(member, row.id))

    call = calls.curl("POST", f"{PATH}/{row.id}", [("name", "…")])
    shown = {"customer": row, "back": _address(member, row.id), "call": call}
    return acts.done(request, form, act) or acts.ask(request, TEMPLATE, form, **shown)


@page("POST")
def delete_customer(request: HttpRequest, member: Member, customer: str) -> HttpResponse:
    """Say what is forgotten and what stays, and delete the customer."""
    rows = Customer.objects.for_merchant(member.merchant)
    row: Customer = listing.find(rows, customer)
    done = _address(member, row.id)
    if row.deleted_at is not None:
        return once.see_other(done)

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


def _existing(member: Member, customer: str) -> Customer:
    row: Customer = listing.find(Customer.objects.for_merchant(member.merchant), customer)
    if row.deleted_at is not None:
        raise Http404
    return row


def _address(member: Member, customer: str) -> str:
    return reverse("panel:customer", args=[member.merchant_id, customer])
