"""The page behind a session's `url`. It says how the session stands, and takes no cards yet."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import translation
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from core import money
from payments.checkout import drafts, links
from payments.checkout.models import CheckoutSession
from payments.checkout.states import Locale, SessionStatus

PAGES: dict[str, tuple[str, int]] = {
    SessionStatus.OPEN: ("unavailable", 503),
    SessionStatus.COMPLETE: ("complete", 200),
    SessionStatus.EXPIRED: ("expired", 410),
}


@csrf_exempt  # It takes no form; a wrong method is a 405.
@never_cache
@require_safe
def page(request: HttpRequest, token: str) -> HttpResponse:
    """Show how a session stands; a wrong address is refused before the database is asked."""
    session_id = links.session_id_of(token)
    rows = CheckoutSession.objects.select_related("merchant", "intent")
    session = rows.filter(id=session_id).first() if session_id else None
    if session is None:
        return _page(request, "payments/threeds/unknown.html", {}, status=404)
    name, status = PAGES[session.status]
    with translation.override(_language(session)):
        template = f"payments/checkout/{name}.html"
        return _page(request, template, _facts(session), status=status)


def _language(session: CheckoutSession) -> str | None:
    is_chosen = session.locale != Locale.AUTO
    return session.locale if is_chosen else translation.get_language()


def _facts(session: CheckoutSession) -> dict[str, object]:
    intent = session.intent
    way_back = session.cancel_url if session.status != SessionStatus.COMPLETE else None
    return {
        "merchant_name": session.merchant.name,
        "amount": money.written(intent.amount + intent.surcharge, intent.currency),
        "back_url": drafts.with_id(way_back, session.id) if way_back else None,
    }


def _page(
    request: HttpRequest, template: str, facts: dict[str, object], *, status: int
) -> HttpResponse:
    shown = {**facts, "is_sandbox": not settings.LIVEMODE}
    page = render(request, template, shown, status=status)
    # The address holds the page's secret, which no other site and no search must learn.
    page["Referrer-Policy"] = "no-referrer"
    page["X-Robots-Tag"] = "noindex"
    return page
