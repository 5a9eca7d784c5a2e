"""A merchant's home: steps to set up, open tasks, and the week's figures."""

from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from core import clock
from merchants.models import Member
from panel import permissions
from panel.merchants import kept_figures, week
from panel.merchants.attention import notes
from panel.merchants.pages import page, show
from panel.merchants.setting_up import steps


@page()
def overview(request: HttpRequest, member: Member) -> HttpResponse:
    """Show the steps of setting up until they are done, and the figures of the week."""
    figures = kept_figures.of(member.merchant)
    shown: dict[str, Any] = {
        **_set_up(member),
        "figures": figures,
        "notes": notes(member, figures, clock.now()) if figures else [],
        "currencies": week.currencies(figures) if figures else [],
        "success": week.success(figures) if figures else None,
        "reasons": week.reasons(figures) if figures else [],
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
