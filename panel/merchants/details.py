"""The page of one thing: its facts, the API's own view of it, and rows that belong to it."""

from typing import Any, NamedTuple

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from core.errors import DomainError
from core.querysets import MerchantRows
from core.rest.lists import ListSpec
from events.models import Event
from merchants.models import Member
from panel import permissions
from panel.merchants import calls, links, listing
from panel.merchants.pages import show
from panel.patience import TookTooLong, limited

EVENTS_MOST = 25
TOO_LONG = _("This took too long. Try again in a moment.")


class ToldEvent(NamedTuple):
    """An event of an object, with the address of its page."""

    event: Event
    url: str


def answer(request: HttpRequest, template: str, row: Any, path: str, **shown: Any) -> HttpResponse:
    """Answer the page of a row.

    :param path: of the API's list that the row is in.
    :param shown: of the template; of rows below the facts what `below` returns.
    """
    status = shown.pop("status", 200)
    facts = {
        "metadata": sorted((getattr(row, "metadata", None) or {}).items()),
        "call": calls.curl("GET", f"{path}/{row.id}"),
        **shown,
    }
    return show(request, template, facts, status=status)


def below(request: HttpRequest, rows: MerchantRows, spec: ListSpec) -> dict[str, Any]:
    """Return the page of rows that the address asks for, or a problem with its HTTP status."""
    try:
        with limited():
            return {"page": listing.page(rows, request.GET, spec)}
    except TookTooLong:
        return {"problem": TOO_LONG, "status": 503}
    except DomainError:
        return {"problem": listing.NO_SUCH_PLACE, "status": 400}


def events(member: Member, object_id: str) -> list[ToldEvent]:
    """Return the newest events of an object, for those who may see events."""
    if not permissions.may_open(member, "event"):
        return []
    rows = Event.objects.for_merchant(member.merchant).filter(aggregate_id=object_id)
    newest = rows.order_by("-sequence")[:EVENTS_MOST]
    return [ToldEvent(one, links.to(member, one.id)) for one in newest]
