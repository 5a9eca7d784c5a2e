"""The page of a list: the API's own filters as a form, its rows, and ways to the next ones."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict

from core.errors import DomainError
from core.querysets import MerchantRows
from core.rest.lists import Page
from merchants.models import Member
from panel.merchants import addresses, calls, links, list_ways, listing
from panel.merchants.list_forms import ListForm
from panel.merchants.list_ways import ListWay, StatusTab
from panel.merchants.pages import show
from panel.patience import TookTooLong, limited


def _nothing(_member: Member, _page: Page) -> dict[str, Any]:
    return {}


class ListPage(NamedTuple):
    """A list that has a page.

    :param name: of its page, and of its export.
    :param path: of the API's list; nothing if the API has none.
    :param is_counted: the page says how many rows there are.
    :param statuses: those that have a tab, in the order of the tabs.
    :param words: gives the rows of a page their words, and returns more for the template.
    """

    name: str
    form: type[ListForm]
    template: str
    path: str = ""
    is_counted: bool = False
    statuses: Sequence[str | StatusTab] = ()
    words: Callable[[Member, Page], dict[str, Any]] = _nothing


def answer(
    request: HttpRequest,
    member: Member,
    listed: ListPage,
    rows: MerchantRows,
    *,
    cursors: MerchantRows | None = None,
    **shown: Any,
) -> HttpResponse:
    """Answer a list with its form; with an address in the API's terms, if it is not yet.

    :param cursors: the rows that may be a cursor, if they are more.
    """
    form = filters(request, member, listed.form)
    if form.is_valid() and (better := form.in_the_apis_terms()) is not None:
        return HttpResponseRedirect(f"{request.path}?{better}" if better else request.path)
    if not form.errors and (found := _found(listed, rows, form, cursors)):
        shown |= {"page": found, **listed.words(member, found)}
        shown |= _ways(listed, rows, form, found)
    wanted = QueryDict() if form.errors else form.asked
    shown |= {
        "form": form,
        "is_narrowed": form.is_narrowed,
        "export_url": links.to_export(member, listed.name, _with_unseen(wanted, form)),
        "call": calls.listing(listed.path, wanted) if listed.path else "",
    }
    return show(request, listed.template, shown, status=400 if form.errors else 200)


def _with_unseen(query: QueryDict, form: ListForm) -> QueryDict:
    """Return a filter with what a tab above the form has chosen."""
    whole = query.copy()
    for name, value in form.unseen:
        whole[name] = value
    return whole


def _ways(
    listed: ListPage, rows: MerchantRows, form: ListForm, found: Page
) -> dict[str, list[ListWay]]:
    """Return the tabs and days of a list; a list that has no row at all has none."""
    if not listed.statuses or not (found.rows or form.is_narrowed):
        return {}
    statuses = list_ways.statuses_of(listed.statuses)
    counts = listing.counts_by_status(rows, form.given, form.spec, found, statuses)
    return {
        "tabs": list_ways.tabs(form.given, listed.statuses, counts),
        "days": list_ways.days(form.given, form.zone),
    }


def filters(request: HttpRequest, member: Member, form_class: type[ListForm]) -> ListForm:
    """Return the filters of an address; a refusal alone if a card or a key is in it."""
    problem = addresses.unsafe(request)
    # Without what was typed: the page may be printed or photographed.
    query = QueryDict() if problem else request.GET
    merchant = member.merchant
    form = form_class(query, zone=merchant.timezone, currency=merchant.default_currency)
    if problem:
        form.add_error(None, str(problem))
    return form


def _found(
    listed: ListPage, rows: MerchantRows, form: ListForm, cursors: MerchantRows | None
) -> Page | None:
    """Return the page that the address asks for; None if it was refused, and the form says why."""
    try:
        if listed.is_counted:
            return listing.counted_page(rows, form.given, form.spec)
        with limited():
            return listing.page(rows, form.given, form.spec, cursors=cursors)
    except TookTooLong:
        form.refuse_as_too_long()
    except DomainError as problem:
        form.refuse(problem)
    return None
