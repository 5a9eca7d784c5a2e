"""The page of one thing: its facts, the API's own view of it, and rows that belong to it."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from core.errors import DomainError
from core.querysets import MerchantRows
from core.rest.lists import ListSpec
from panel.merchants import calls, listing
from panel.merchants.pages import show
from panel.patience import TookTooLong, limited

TOO_LONG = _("This took too long. Try again in a moment.")


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
