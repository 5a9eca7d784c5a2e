"""Acts on payouts and top-ups, and the parts that the pages of both have."""

from collections.abc import Callable
from typing import Any, NamedTuple

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.urls import reverse

from events.models import Event
from ledger import transactions
from ledger.filters import TRANSACTIONS
from merchants.models import Member
from panel import once, permissions
from panel.merchants import links, listing
from panel.merchants.balance_forms import AmountForm, MoneyActForm
from panel.merchants.balance_words import TYPES
from panel.merchants.endpoint_forms import REFUSALS, typed
from panel.once import Made


class Told(NamedTuple):
    """An event of a payout or a top-up, with the address of its page."""

    event: Event
    url: str


def sent(request: HttpRequest) -> QueryDict | None:
    """Return the fields of a form that was sent; None where a page is opened."""
    return typed(request) if request.method == "POST" else None


def make(
    request: HttpRequest, member: Member, form: AmountForm, create: Callable[[], str], *, page: str
) -> HttpResponse | None:
    """Make what a form asks for, once for its token, and lead to its page.

    None if the form was not sent, or was refused and says why.

    :param create: makes it, and returns its id.
    :param page: the name of the page of what is made.
    """

    def way_on(made_id: str) -> HttpResponse:
        return _see_other(reverse(f"panel:{page}", args=[member.merchant_id, made_id]))

    def change() -> Made:
        made_id = create()
        return way_on(made_id), made_id

    # A form with a card number in it comes here without its fields, and does nothing.
    if request.method != "POST" or not form.data or not form.is_valid():
        return None
    try:
        return once.make(request, member, change, again=way_on)
    except REFUSALS as problem:
        form.refuse(problem)
        return None


def cancel(
    request: HttpRequest, member: Member, form: MoneyActForm, change: Callable[[], Any], done: str
) -> HttpResponse | None:
    """Cancel a page's object, once for the form's token, and lead back to its page.

    None if the form was not sent, or was refused and says why.

    :param done: the address of the canceled object's page.
    """
    if request.method != "POST" or not form.is_valid():
        return None
    try:
        return once.run(request, member, change, done=done)
    except REFUSALS as problem:
        form.refuse(problem)
        return None


def form_shown(request: HttpRequest, form: MoneyActForm) -> dict[str, Any]:
    """Return what a page with a form shows of it."""
    return {"form": form, "token": once.token(request)}


def status_of(request: HttpRequest) -> int:
    """Return the HTTP status of a page with a form that was not done."""
    return 400 if request.method == "POST" else 200


def parts(member: Member, object_id: str) -> dict[str, Any]:
    """Return the balance transactions of an object, and its events for those who may see them."""
    rows = transactions.of_merchant(member.merchant)
    found = listing.page(rows, QueryDict(f"source={object_id}"), TRANSACTIONS).rows
    moved = transactions.shown(found, member.merchant)
    for row, movement in zip(moved, found, strict=True):
        row |= {"word": TYPES.get(row["type"], row["type"]), "created_at": movement.created_at}
    return {"transactions": moved, "told": _told(member, object_id)}


def _told(member: Member, object_id: str) -> list[Told]:
    if not permissions.may_open(member, "event"):
        return []
    events = Event.objects.for_merchant(member.merchant).filter(aggregate_id=object_id)
    return [Told(one, links.to(member, one.id)) for one in events.order_by("-sequence")[:25]]


def _see_other(address: str) -> HttpResponse:
    response = HttpResponseRedirect(address)
    response.status_code = 303
    return response
