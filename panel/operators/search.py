"""The desk's first page: one search over all merchants."""

from django.http import HttpRequest, HttpResponse
from django.urls import path

from panel.operators import desk
from panel.operators.desk import Section


@desk.page("merchants.view_merchant")
def search(request: HttpRequest) -> HttpResponse:
    """Find any id."""
    return desk.show(request, "desk/search.html", "Search")


SECTION = Section("Search", [path("", search, name="desk_search")])
