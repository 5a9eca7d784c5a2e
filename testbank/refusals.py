"""Answers of the bank to requests that it cannot serve: a page to people, JSON to machines."""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.translation import gettext_lazy as _

from testbank import pages

# status: (the error for machines, the page's title, its sentence)
REFUSALS = {
    400: ("bad request", _("That did not work"), _("Your browser sent what the bank cannot read.")),
    404: (
        "not found",
        _("Nothing to confirm here"),
        _("The bank knows no payment at this address."),
    ),
    405: (
        "method not allowed",
        _("Nothing to confirm here"),
        _("The bank has no page at this address."),
    ),
    413: ("too long", _("That did not work"), _("Your browser sent more than the bank can read.")),
    500: ("the bank failed", _("The bank failed"), _("It could not do what you asked for.")),
}


def refuse(request: HttpRequest, status: int) -> HttpResponse:
    """Return the refusal with this status: a page to people, JSON at every other address."""
    error, title, sentence = REFUSALS[status]
    if not request.path_info.startswith(pages.PEOPLES_PATHS):
        return JsonResponse({"error": error}, status=status)
    return pages.show("missing", {"title": title, "sentence": sentence}, status=status)
