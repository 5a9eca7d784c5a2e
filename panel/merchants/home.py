"""`/panel/`, which leads to the merchant last seen, and the person's choices about looks."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from merchants.models import Member
from panel import languages, look
from panel.merchants.pages import LAST_SEEN, private


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
