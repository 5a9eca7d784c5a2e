"""A merchant's home, `/panel/` which leads to it, and the person's choices about looks."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from core import clock, money
from merchants.models import Member
from panel import languages, look, permissions
from panel.merchants import figures, links, week
from panel.merchants.figures import Figures
from panel.merchants.pages import LAST_SEEN, page, private, show
from panel.merchants.setting_up import steps


@page()
def overview(request: HttpRequest, member: Member) -> HttpResponse:
    """Show the steps of setting up until they are done, and the figures of the week."""
    known = figures.of(member.merchant)
    shown: dict[str, Any] = {
        **_set_up(member),
        "figures": known,
        "notes": notes(member, known, clock.now()) if known else [],
        "currencies": week.currencies(known) if known else [],
        "success": week.success(known) if known else None,
        "reasons": week.reasons(known) if known else [],
        "refused_url": week.refused_url(member),
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
    Member.Role.SUPPORT: _("Support"),
}


class WaitingThing(NamedTuple):
    """One thing that waits.

    :param what: it is about: `dispute`, `endpoint` or `key`.
    """

    what: str
    text: str
    url: str
    detail: str


def notes(member: Member, known: Figures, now: datetime) -> list[WaitingThing]:
    """Return what a member may see to, disputes first."""
    found = [*_disputes(member, known, now)]
    if permissions.may_open(member, "endpoint"):
        found += [*_endpoints(member, known), *_keys(member, known)]
    return found


def _disputes(member: Member, known: Figures, now: datetime) -> Iterator[WaitingThing]:
    for row in known.disputes:
        days = max(0, (row.evidence_due_by - now).days)
        amount = money.written(row.amount, row.currency)
        text = gettext("A dispute of %(amount)s waits for your answer") % {"amount": amount}
        left: Any = ngettext("%(days)s day left", "%(days)s days left", days) % {"days": days}
        yield WaitingThing(
            "dispute", text, links.to(member, row.id), left if days else gettext("Due today")
        )


def _endpoints(member: Member, known: Figures) -> Iterator[WaitingThing]:
    for row in known.endpoints:
        yield WaitingThing(
            "endpoint", gettext("An endpoint is failing"), links.to(member, row.id), row.url
        )


def _keys(member: Member, known: Figures) -> Iterator[WaitingThing]:
    for row in known.keys:
        days = max(0, (row.expires_at - timezone.now()).days) if row.expires_at else 0
        text = gettext("The key %(name)s expires") % {"name": row.name}
        left: Any = ngettext("in %(days)s day", "in %(days)s days", days) % {"days": days}
        yield WaitingThing(
            "key", text, links.to(member, row.id), left if days else gettext("today")
        )


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


@require_POST
def choose_look(request: HttpRequest) -> HttpResponse:
    """Remember theme, language and keyboard choices, and go back to where the person was."""
    # Not a field of the form: the page would repeat its own address, and with it what was typed.
    back = request.headers.get("Referer", "")
    is_ours = url_has_allowed_host_and_scheme(back, allowed_hosts={request.get_host()})
    response = HttpResponseRedirect(back if is_ours else reverse("panel:home"))
    response.status_code = 303
    look.remember(response, request.POST.dict())
    languages.keep(request.user, request.POST.get("language", ""))
    return private(response)
