"""A merchant's home, `/panel/` which leads to it, and the person's choices about looks."""

from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext_lazy as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_safe

from core import clock
from merchants.models import Member
from panel import languages, look, permissions, tallies
from panel.frame import LAST_SEEN
from panel.merchants import charts, figures, waiting
from panel.merchants.pages import page, private, show
from panel.merchants.setting_up import steps


@page()
def overview(request: HttpRequest, member: Member) -> HttpResponse:
    """Show the steps of setting up until they are done, what waits, and charts of payments."""
    known = figures.of(member.merchant)
    shown: dict[str, Any] = {
        **_set_up(member),
        "figures": known,
        "notes": waiting.things(member, known, tallies.of(member), clock.now()),
        "charts": charts.shown(request, member),
        "may_see_logs": permissions.may_open(member, "request_errors"),
        "role": ROLES[Member.Role(member.role)],
    }
    return show(request, "panel/overview.html", shown)


@page()
def go_live(request: HttpRequest, member: Member) -> HttpResponse:
    """Say what is different where real money moves; there is no such page there."""
    if settings.LIVEMODE:
        raise Http404
    return show(request, "panel/go_live.html", _set_up(member))


def _set_up(member: Member) -> dict[str, Any]:
    found = steps(member)
    done = sum(step.is_done for step in found)
    return {"steps": found, "done": done, "is_set_up": done == len(found)}


ROLES: dict[str, str | Promise] = {
    Member.Role.OWNER: _("Owner"),
    Member.Role.DEVELOPER: _("Developer"),
    Member.Role.FINANCE: _("Finance"),
    Member.Role.ACCOUNTANT: _("Accountant"),
    Member.Role.SUPPORT: _("Support"),
}


@csrf_exempt  # Only what may change something has to bring a token; a wrong method is a 405.
@require_safe
@login_required
def home(request: HttpRequest) -> HttpResponse:
    """Lead to the merchant that the person saw last, or to their first; say so if there is none."""
    teams = Member.objects.filter(user=request.user.pk)
    last = teams.filter(merchant_id=request.session.get(LAST_SEEN)).first()
    member = last or teams.order_by("created_at", "pk").first()
    if member is None:
        return private(render(request, "panel/no_team.html"))
    return private(redirect("panel:overview", member.merchant_id))


@require_http_methods(["GET", "HEAD", "POST"])
def choose_look(request: HttpRequest) -> HttpResponse:
    """Remember theme, language and keyboard choices, and go back to where the person was.

    The address alone, as a bookmark or a reload has it, leads home.
    """
    if request.method != "POST":
        return private(redirect("panel:home"))
    # Not a field of the form: the page would repeat its own address, and with it what was typed.
    back = request.headers.get("Referer", "")
    is_ours = url_has_allowed_host_and_scheme(back, allowed_hosts={request.get_host()})
    response = HttpResponseRedirect(back if is_ours else reverse("panel:home"))
    response.status_code = 303
    look.remember(response, request.POST.dict())
    languages.keep(request.user, request.POST.get("language", ""))
    return private(response)
