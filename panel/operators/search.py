"""The desk's first page: one search over all merchants, by whole ids, references and addresses."""

from django.http import HttpRequest, HttpResponse
from django.urls import path

from core.detection import contains_card_number
from core.folding import trimmed
from panel.operators import desk, finding
from panel.operators.desk import Section
from panel.patience import TookTooLong, limited

TEXT_MAX = 255
CARD_TYPED = (
    "That is a card number. It was not looked for, and is kept nowhere here; the browser's history"
    " may have it. Look for the payment's id or the bank's reference."
)


@desk.page("merchants.view_merchant")
def search(request: HttpRequest) -> HttpResponse:
    """Find what one text names; only kinds that the person may see."""
    text = trimmed(request.GET.get("q", ""))
    if contains_card_number(text):
        return _page(request, 400, error=CARD_TYPED)
    if len(text) > TEXT_MAX:
        return _page(request, 400, error=f"Search for {TEXT_MAX} characters at most.")
    if not text:
        return _page(request)
    try:
        with limited():
            found = finding.find(text, desk.operator(request))
    except TookTooLong:
        return _page(request, 503, text=text, error="That took too long. Search for a whole id.")
    return _page(request, text=text, found=found)


def _page(request: HttpRequest, status: int = 200, **shown: object) -> HttpResponse:
    return desk.show(request, "desk/search.html", "Search", status, **shown)


SECTION = Section("Search", [path("", search, name="desk_search")])
