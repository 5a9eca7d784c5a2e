"""The pages behind a session's `url`: its address is looked up, and a step or a standing shown."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import translation
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_safe

from core.limits import RateLimited
from payments.checkout import links, page_headers, standing, steps
from payments.checkout.visits import Visit, page_of, sessions


@csrf_exempt  # The form's ticket is the proof, and there is no cookie.
@require_http_methods(["GET", "HEAD", "POST"])
def page(request: HttpRequest, token: str) -> HttpResponse:
    """Show how a session stands, or take the card that its payer has typed."""
    return _answered(
        request, token, steps.take_card if request.method == "POST" else standing.standing
    )


@csrf_exempt  # As above.
@require_http_methods(["GET", "HEAD", "POST"])
def choice(request: HttpRequest, token: str) -> HttpResponse:
    """Take the payer's choice of installments; without one, lead to the page."""
    return _answered(
        request, token, steps.take_choice if request.method == "POST" else Visit.see_page
    )


@csrf_exempt  # A wrong method is a 405.
@require_safe
def another_card(request: HttpRequest, token: str) -> HttpResponse:
    """Show the form to a payer whose bank waits for them."""
    return _answered(request, token, standing.form_or_standing)


@csrf_exempt  # A wrong method is a 405.
@require_safe
def back(request: HttpRequest, token: str) -> HttpResponse:
    """Lead a payer on who comes from the bank or from a press.

    A page of ours, and no redirect: browsers hold `form-action` against the shop's redirects too.
    """
    return _answered(request, token, standing.lead_on)


def _answered(
    request: HttpRequest,
    token: str,
    answer: Callable[["Visit"], HttpResponse],
) -> HttpResponse:
    """Find the session of an address; a wrong one is refused before the database is asked."""
    if request.method == "POST" and page_headers.is_posted_by_another_site(request):
        return page_of("elsewhere", {"is_sandbox": not settings.LIVEMODE}, 403)
    session_id = links.session_id_of(token)
    session = sessions().filter(id=session_id).first() if session_id else None
    if session is None:
        return page_of("../threeds/unknown", {"is_sandbox": not settings.LIVEMODE}, 404)
    visit = Visit(request, session)
    with translation.override(visit.language):
        try:
            answered = answer(visit)
        except RateLimited as refused:
            answered = _wait(visit, refused.retry_after_seconds or 0)
        answered["Content-Language"] = translation.get_language() or "en"
        return answered


def _wait(visit: Visit, seconds: int) -> HttpResponse:
    page = visit.show("wait", status=429, minutes=-(-seconds // 60))
    page["Retry-After"] = str(seconds)
    return page
