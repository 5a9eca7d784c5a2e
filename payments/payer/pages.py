"""The payer's pages: on the way to the bank, and back (spec: States and transitions)."""

import structlog
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from acquirers import returned_forms, slots
from acquirers.three_d_secure import Forged
from core import context, money
from core.page_policy import (
    STATUS_OF_A_CARD_FORM,
    allow_form_to,
    allow_form_to_end_anywhere,
    integrity_of,
)
from payments.intents.models import Attempt
from payments.intents.states import AttemptStatus
from payments.payer import browsers, handoffs, payer_links, returns

log = structlog.get_logger(__name__)

# It runs beside a card: `payments.checkout.page_check` compares it as it is served.
GATE_SCRIPT = "payer_gate.js"
# The page for an attempt that needs nothing more of its payer; any other status shows `failed`.
CLOSED_PAGES: dict[str, str] = {
    AttemptStatus.PROCESSING: "waiting",
    AttemptStatus.AUTHORIZED: "approved",
    AttemptStatus.SUCCEEDED: "approved",
}


@csrf_exempt  # A press brings a cookie of its own, which no other site can make.
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def hand_off(request: HttpRequest, token: str) -> HttpResponse:
    """Show the payer the amount and the merchant, with the form that leads to their bank.

    If the attempt needs nothing more of the payer, the page shows how it ended instead. A GET
    changes nothing: links are opened by mail scanners and previews too.
    """
    attempt = payer_links.attempt_at(token)
    if attempt is None:
        return _page(request, "unknown", status=404)
    if attempt.status != AttemptStatus.REQUIRES_ACTION:
        return _closed(request, attempt)
    if attempt.hand_off is None:
        return _to_the_bank(request, attempt)
    return _pressed(request, attempt) if request.method == "POST" else _button(request, attempt)


def _closed(request: HttpRequest, attempt: Attempt) -> HttpResponse:
    facts = {**_facts(attempt), "back_url": back_to_shop(attempt)}
    return _page(request, CLOSED_PAGES.get(attempt.status, "failed"), facts)


def _to_the_bank(request: HttpRequest, attempt: Attempt) -> HttpResponse:
    assert attempt.acs_url is not None  # `three_d_secure` writes it together with this status.
    page = _page(request, "handoff", {**_facts(attempt), "action": attempt.acs_url})
    allow_form_to(page, attempt.acs_url, payer_links.way_back(attempt))
    return page


def _button(request: HttpRequest, attempt: Attempt) -> HttpResponse:
    """Show the button that gets the form with the card, and give the browser its cookie."""
    path = payer_links.page_path(attempt)
    page = _page(request, "handoff", {**_facts(attempt), "action": path})
    # Each time: after a change of the key its path is another one.
    browsers.keep(page, attempt, browsers.secret_in(request) or browsers.new_secret())
    return page


def _pressed(request: HttpRequest, attempt: Attempt) -> HttpResponse:
    try:
        form = handoffs.press(attempt, browsers.secret_in(request))
    except handoffs.PressedElsewhere:
        return _page(request, "elsewhere", {"page_url": _payment_page(attempt)}, status=403)
    except handoffs.PressedTooLate:
        return _page(request, "late", {"back_url": back_to_shop(attempt)}, status=410)
    if form is None:
        attempt.refresh_from_db(fields=["status"])
        return _closed(request, attempt)
    facts = {**_facts(attempt), "action": form.url, "fields": form.fields}
    facts["integrity"] = integrity_of(GATE_SCRIPT)
    page = _page(request, "gate", facts, status=STATUS_OF_A_CARD_FORM)
    allow_form_to(page, form.url, *attempt.hand_off["origins"], payer_links.way_back(attempt))
    return page


def _payment_page(attempt: Attempt) -> str:
    """Return the address of our own page that the card was typed on, empty if it was another's."""
    address = payer_links.way_back(attempt)
    return address if address.startswith(f"{settings.BASE_URL}/") else ""


@csrf_exempt  # It comes from the bank's origin; the bank's signature is the proof.
@never_cache
def bank_return(request: HttpRequest, token: str) -> HttpResponse:
    """Take the bank's answer from the payer's browser, and send the payer back to the shop."""
    if request.method != "POST":
        page = _page(request, "unknown", status=405)
        page["Allow"] = "POST"
        return page
    attempt = payer_links.attempt_returned_to(token)
    if attempt is None:
        return _page(request, "unknown", status=404)
    try:
        raw = _brought(request)
        returns.accept(attempt, raw, request.META.get("CONTENT_TYPE", ""))
    except Forged as forged:
        log.warning("authentication_answer_refused", reason=str(forged), attempt=attempt.id)
        return _page(request, "refused", {"request_id": context.request_id()}, status=400)
    except returns.PayerTooEarly:
        return _busy(request, attempt, raw)
    return HttpResponseRedirect(back_to_shop(attempt))


def _brought(request: HttpRequest) -> bytes:
    """Return the body as it came, which only the adapter can decode."""
    if int(request.META.get("CONTENT_LENGTH") or 0) > returned_forms.BYTES_MAX:
        raise Forged("There is too much of it.")
    raw = request.read(returned_forms.BYTES_MAX + 1)
    returned_forms.refuse_oversized(raw)
    return raw


def _busy(request: HttpRequest, attempt: Attempt, raw: bytes) -> HttpResponse:
    """Let the payer send the same answer again by hand: it has changed nothing so far."""
    facts = {
        **_facts(attempt),
        "action": payer_links.return_path(attempt),
        "fields": returned_forms.for_a_page(raw),
        "charset": returned_forms.PAGE_CHARSET,
    }
    page = _page(request, "busy", facts, status=503)
    page["Retry-After"] = str(slots.AcquirerBusy.retry_after_seconds)
    allow_form_to_end_anywhere(page)
    return page


def back_to_shop(attempt: Attempt) -> str:
    """Return the shop's address with the payment's id as its last query parameter."""
    return payer_links.with_payment(payer_links.way_back(attempt), attempt.intent_id)


def _page(
    request: HttpRequest, name: str, facts: dict[str, object] | None = None, *, status: int = 200
) -> HttpResponse:
    shown = {**(facts or {}), "is_sandbox": not settings.LIVEMODE}
    page = render(request, f"payments/threeds/{name}.html", shown, status=status)
    # The address holds the page's secret, which the next site must not learn.
    page["Referrer-Policy"] = "no-referrer"
    return page


def _facts(attempt: Attempt) -> dict[str, object]:
    whole, currency = attempt.amount + attempt.surcharge, attempt.currency
    return {
        "merchant_name": attempt.intent.merchant.name,
        "amount": money.written(whole, currency),
        "installments": attempt.installments,
        "parts": money.written_split(whole, currency, attempt.installments),
        "brand": attempt.card["brand"],
        "last4": attempt.card["last4"],
    }
