"""The page at which a form waits that was sent again while its first sending was under way.

It stands at the form's own address, with the form's token, signed: whoever may open the form may
look how it ended.
"""

from django.contrib import messages
from django.core.signing import BadSignature
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext

from api.idempotency import handover
from merchants.models import Member
from panel import once, shown_once
from panel.merchants import links

LOOKS_EVERY_SECONDS = 3


def look(request: HttpRequest, member: Member) -> HttpResponse | None:
    """Answer how the first sending goes; None if the address asks for something else.

    Under way: a page looks again by itself. Done: it leads to the thing, or shows its secret once.
    """
    if not (waits_for := _signed(request, member)):
        return None
    token, done = waits_for
    key = once.key_of(token)
    # It asks by itself, which keeps no session alive.
    request.is_poll = True  # type: ignore[attr-defined]
    first = handover.find(member.merchant, key)
    if first and first.is_under_way:
        return _looking_again(request)
    if first is None or not (first.object_id or first.text):
        messages.warning(request, gettext("The form was refused. Nothing was changed: try again."))
        return HttpResponseRedirect(request.path)
    if first.page and (page := shown_once.again(request, token, first.page)):
        return page
    return HttpResponseRedirect(_address(member, first.text or done or first.object_id))


def _signed(request: HttpRequest, member: Member) -> list[str] | None:
    """Return the form's token and the address to lead to, as we signed them; None without them."""
    signed = request.GET.get(once.WAITING, "") if request.method == "GET" else ""
    try:
        waits_for: list[str] = once.signer(request, member).unsign_object(signed)
    except BadSignature:
        return None
    return waits_for


def _looking_again(request: HttpRequest) -> HttpResponse:
    here = request.get_full_path()
    shown = {"here": here, "seconds": LOOKS_EVERY_SECONDS}
    response = render(request, "panel/being_done.html", shown, status=202)
    # A header, which needs no script.
    response.headers["Refresh"] = f"{LOOKS_EVERY_SECONDS}; url={here}"
    return response


def _address(member: Member, text: str) -> str:
    """Return an address as it was kept, or that of the page of an id."""
    if text.startswith("/"):
        return text
    overview = reverse("panel:overview", args=[member.merchant_id])
    return links.to(member, text) or overview
