"""The service with some pages more: payers' pages with made-up payments, and pages with faults.

For browser tests alone: an URLconf, which tests/browser/payer_pages_wsgi.py serves.
"""

from urllib.parse import urlencode

from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.db import OperationalError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import path
from django.views.decorators.csrf import csrf_exempt

from acquirers import returned_forms
from config import urls
from config.errors import answer
from config.urls import handler400, handler403, handler404, handler500
from core import countries, money
from core.errors import LockTimeout
from core.page_policy import allow_form_to, allow_form_to_end_anywhere
from payments.checkout import card_form, card_page
from payments.checkout.tickets import Held, Ticket

__all__ = ["handler400", "handler403", "handler404", "handler500"]

PAYMENTS = {
    "usual": {
        "merchant_name": "Acme Store",
        "amount": "₺125.00",
        "brand": "visa",
        "last4": "4242",
    },
    "longest": {
        "merchant_name": "Çağlayan & Oğulları Uluslararası Elektronik Ticaret ve Danışmanlık A.Ş.",
        "amount": "₺9,999,999,999.99",
        "installments": 12,
        "parts": money.written_split(999_999_999_999, "try", 12),
        "brand": "mastercard",
        "last4": "0004",
    },
    "unbroken": {
        "merchant_name": "W" * 60,
        "amount": "1.00 GBP",
        "brand": None,
        "last4": "0001",
    },
}
# How a checkout session stands, with the status of its page.
STANDINGS = {
    "card": 203, "wrong": 400, "held": 400, "plans": 200, "busy": 503, "action": 200,
    "waiting": 200, "complete": 200, "expired": 410, "used_up": 410, "unavailable": 503,
    "elsewhere": 403, "wait": 429,
}  # fmt: skip
WAYS = [
    {"count": 1, "whole": "₺125.00"},
    {"count": 3, "whole": "₺128.44", "part": "₺42.81"},
    {"count": 12, "whole": "₺9,999,999,999.99", "part": "₺833,333,333.33"},
]
FIELDS = {"creq": 'eyJ0aHJlZURTU2VydmVyVHJhbnNJRCI6IjEi"><b>', "threeDSSessionData": "att_1"}
# A bank's answer in its own encoding; in no encoding is every byte of it a letter.
BROUGHT = b"oid=A1&msg=%DDslem+onayland%FD&odd=%80%81%8D%8F%90%9D%9E%A0%FF&hash=a%2Bb%3D%3D"


def handoff(request: HttpRequest, payment: str) -> HttpResponse:
    """Show a payment; `back` is where the chain ends, `allowed` what the policy takes for it."""
    back = request.GET.get("back", "https://acme.example/return")
    # The same process under its other name: for a browser another origin.
    acs_url = f"http://localhost:{request.get_port()}/pages/bank?{urlencode({'back': back})}"
    shown = {**PAYMENTS[payment], "action": acs_url, "is_sandbox": True}
    response = render(request, "payments/threeds/handoff.html", shown)
    allow_form_to(response, acs_url, request.GET.get("allowed", back))
    return response


def gate(request: HttpRequest, payment: str) -> HttpResponse:
    """Show the form for a bank's gate, which sends itself."""
    back = request.GET.get("back", "https://acme.example/return")
    action = f"http://localhost:{request.get_port()}/pages/bank?{urlencode({'back': back})}"
    shown = {**PAYMENTS[payment], "action": action, "fields": FIELDS, "is_sandbox": True}
    response = render(request, "payments/threeds/gate.html", shown)
    allow_form_to(response, action, back)
    return response


@csrf_exempt
def bank(request: HttpRequest) -> HttpResponse:
    """Play an issuer that asks nothing and sends the payer straight on."""
    told = returned_forms.for_a_page(request.body)
    assert told in ([], list(FIELDS.items()), returned_forms.for_a_page(BROUGHT))
    return HttpResponseRedirect(request.GET["back"])


def closed(request: HttpRequest, outcome: str, payment: str) -> HttpResponse:
    back_url = request.GET.get("back", "https://acme.example/return")
    shown = {**PAYMENTS[payment], "back_url": back_url, "is_sandbox": True}
    return render(request, f"payments/threeds/{outcome}.html", shown)


def standing(request: HttpRequest, name: str, payment: str) -> HttpResponse:
    """Show how a checkout session stands, and the forms of its two steps."""
    held = {"shown": {**PAYMENTS[payment], "issuer": "İş Bankası"}}
    ticket = Ticket(12500, "try", Held("tok_1", held["shown"]) if name == "held" else None)
    problems = {"number": "number", "cvc": "cvc", "email": "email"} if name == "wrong" else {}
    fields = card_page.input_fields(card_form.TEXTS, ticket, {}, problems)
    shown = {
        **PAYMENTS[payment],
        "back_url": "https://acme.example/cart",
        "success_url": "https://acme.example/ok",
        "hand_off": "/pages/handoff/usual",
        "path": "/pages/checkout/card/usual",
        "language": "en",
        "other_language": "tr",
        "other_language_name": "Türkçe",
        "shop_host": "acme.example",
        "description": "Order 7",
        "lines": [{"name": "W" * 80, "quantity": 2, "amount": "₺1.00"}] * 3,
        "more_lines": [{"name": "Tea glass", "quantity": 1, "amount": "₺1.00"}] * 3,
        "fields": fields,
        "problems": [one for one in fields.values() if one.problem],
        "asks_address": True,
        "countries": countries.named("en"),
        "held": held if name in ("held", "plans", "busy") else None,
        "ways": WAYS,
        "form": "A" * 700,
        "minutes": 10,
        "is_sandbox": True,
    }
    template = {"wrong": "card", "held": "card"}.get(name, name)
    status = STANDINGS[name]
    return render(request, f"payments/checkout/{template}.html", shown, status=status)


def busy(request: HttpRequest, payment: str) -> HttpResponse:
    """Show a payment that has no slot at its acquirer; its form leads on to `back`."""
    back = request.GET.get("back", "https://acme.example/return")
    action = f"/pages/bank?{urlencode({'back': back})}"
    brought = {
        "fields": returned_forms.for_a_page(BROUGHT),
        "charset": returned_forms.PAGE_CHARSET,
    }
    shown = {**PAYMENTS[payment], **brought, "action": action, "is_sandbox": True}
    response = render(request, "payments/threeds/busy.html", shown, status=503)
    allow_form_to_end_anywhere(response)
    return response


def unknown(request: HttpRequest) -> HttpResponse:
    shown = {"is_sandbox": True}
    return render(request, "payments/threeds/unknown.html", shown, status=404)


def elsewhere(request: HttpRequest) -> HttpResponse:
    shown = {"is_sandbox": True}
    return render(request, "payments/threeds/elsewhere.html", shown, status=403)


def refused(request: HttpRequest) -> HttpResponse:
    shown = {"request_id": "req_0VvT000000000000000000aa", "is_sandbox": True}
    return render(request, "payments/threeds/refused.html", shown, status=400)


def fail(request: HttpRequest, status: int) -> HttpResponse:
    failures = {
        400: SuspiciousOperation,
        403: PermissionDenied,
        404: Http404,
        500: RuntimeError,
        503: OperationalError,
    }
    if status in failures:
        raise failures[status]("made to fail")
    return answer(request, LockTimeout())


FAULTLESS = (
    '<!doctype html><html lang="en"><head><title>Faults</title><link rel="icon" href="data:,">'
    "</head><body><main><h1>One fault</h1>{fault}</main></body></html>"
)
FAULTS = {
    "none": "",
    "inline-script": "<script>document.title = 'owned'</script>",
    "inline-style": '<p style="color: red">red</p>',
    "foreign-picture": '<img alt="" src="https://elsewhere.example/x.png">',
    "console": '<script src="/faults/console.js"></script>',
    "uncaught": '<script src="/faults/uncaught.js"></script>',
    "shift": '<script src="/faults/shift.js"></script>',
    "late-cell": f"<table>{'<tr><td>1<td>2<td>3' * 20}</table>"
    '<script src="/faults/late-cell.js"></script>',
    "missing-file": '<img alt="" src="/static/nowhere.png">',
    "no-label": "<input>",
    "low-contrast": '<p><font color="#bbbbbb">hard to read</font></p>',
    "small-target": "<ul><li><a href='/a'>a</a> <a href='/b'>b</a></ul>",
    "wide": f"<p>{'w' * 500}</p>",
    "overlap": "<table><tr><td><span>Words that run</span></td><td>into others</td></tr></table>"
    '<script src="/faults/overlap.js"></script>',
    "wide-box": "<div><table><tr><td>Words that run</td></tr></table></div>"
    '<script src="/faults/wide-box.js"></script>',
    "cut-text": "<p>Words that nobody reads to their end</p>"
    '<script src="/faults/cut-text.js"></script>',
    "no-edge": '<label>Name <input></label><script src="/faults/no-edge.js"></script>',
    "two-headings": "<h1>Two</h1>",
    "form-without-token": '<form method="post" action="/panel/look"><button>Send</button></form>',
}
# Twice a frame later, when the page has been painted.
SHIFT = """addEventListener("load", () => requestAnimationFrame(() => requestAnimationFrame(() => {
    const late = document.createElement("pre");
    late.textContent = "A text that comes late" + "\\n".repeat(20);
    document.querySelector("main").prepend(late);
})))"""
LATE_CELL = """addEventListener("load", () => requestAnimationFrame(() =>
    requestAnimationFrame(() => {
        document.querySelector("td").textContent = "A text that comes late" + "w".repeat(60);
    })))"""
OVERLAP = """Object.assign(document.querySelector("td span").style,
    { display: "block", width: "1em", whiteSpace: "nowrap" })"""
NO_EDGE = """Object.assign(document.querySelector("input").style,
    { appearance: "none", border: "1px solid #dddddd", background: "white" })"""
WIDE_BOX = """Object.assign(document.querySelector("table").style, { width: "500px" });
Object.assign(document.querySelector("div").style, { width: "300px", overflow: "auto" })"""
CUT_TEXT = """Object.assign(document.querySelector("p").style,
    { width: "5em", overflow: "hidden", whiteSpace: "nowrap", textOverflow: "ellipsis" })"""
SCRIPTS = {
    "wide-box": WIDE_BOX,
    "cut-text": CUT_TEXT,
    "console": "console.error('it hurts')",
    "uncaught": "null.x",
    "shift": SHIFT,
    "late-cell": LATE_CELL,
    "overlap": OVERLAP,
    "no-edge": NO_EDGE,
}


def faulty(request: HttpRequest, fault: str) -> HttpResponse:
    return HttpResponse(FAULTLESS.format(fault=FAULTS[fault]))


def script(request: HttpRequest, fault: str) -> HttpResponse:
    return HttpResponse(SCRIPTS[fault], content_type="text/javascript")


urlpatterns = [
    *urls.urlpatterns,
    path("pages/handoff/<str:payment>", handoff),
    path("pages/gate/<str:payment>", gate),
    path("pages/elsewhere", elsewhere),
    path("pages/bank", bank),
    path("pages/closed/<str:outcome>/<str:payment>", closed),
    path("pages/checkout/<str:name>/<str:payment>", standing),
    path("pages/busy/<str:payment>", busy),
    path("pages/unknown", unknown),
    path("pages/refused", refused),
    path("pages/fail/<int:status>", fail),
    path("faults/<str:fault>.js", script),
    path("faults/<str:fault>", faulty),
]
