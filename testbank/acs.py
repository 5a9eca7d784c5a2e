"""The issuer's pages, where the cardholder decides (3-D Secure: the access control server).

No cookies, and so no CSRF token: the address holds an id that cannot be guessed.
"""

from urllib.parse import parse_qs

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from core import money
from testbank import authentications, orders, pages
from testbank.garanti import returns as garanti
from testbank.models import Authentication, GateVisit
from testbank.nestpay import returns as nestpay
from testbank.protocols import gates
from testbank.protocols.gates import Gate, Posting
from testbank.silence import fall_silent
from testbank.states import AuthenticationState, CardholderChoice

BAD_REQUEST = 400
FIELDS_MAX = 10
# Gates of protocols. A payer who came in by none of them came by the sandbox's own door.
GATES = (nestpay.GATE, garanti.GATE)


@require_http_methods(["GET", "HEAD", "POST"])
def challenge(request: HttpRequest, transaction_id: str) -> HttpResponse:
    """Ask the cardholder, or show the answer again once it was given."""
    authentication = _found(transaction_id)
    if request.method == "POST":
        # A page that came by POST has no way back: the browser would want to send it anew.
        return _see_other(authentication)
    return _page(authentication)


@require_POST
def decision(request: HttpRequest, transaction_id: str) -> HttpResponse:
    """Take the button that was pressed; two of them at once are none."""
    authentication = _found(transaction_id)
    pressed = _pressed(request)
    if pressed is None:
        return _page(authentication, status=BAD_REQUEST)
    authentications.decide(authentication, pressed)
    visited = _visited(authentication)
    if visited is not None and authentication.state == AuthenticationState.CHALLENGED:
        gates.misbehave(*visited)
    return _see_other(authentication, "answer")


@require_safe
def answer(_request: HttpRequest, transaction_id: str) -> HttpResponse:
    """Send the browser on with the signed answer."""
    authentication = _found(transaction_id)
    if authentication.state == AuthenticationState.CHALLENGED:
        return _see_other(authentication)
    return _page(authentication)


def _found(transaction_id: str) -> Authentication:
    found = authentications.find(transaction_id) if orders.NAME.fullmatch(transaction_id) else None
    if found is None:
        raise Http404
    return found


def _pressed(request: HttpRequest) -> CardholderChoice | None:
    # Not request.POST: the pages send one field, and Django would log what sends thousands.
    try:
        pressed = parse_qs(request.body, max_num_fields=FIELDS_MAX).get(b"decision", [])
    except ValueError:
        return None
    names = [name for name in CardholderChoice if [name.encode()] == pressed]
    return names[0] if names else None


def _see_other(authentication: Authentication, *below: str) -> HttpResponse:
    return pages.see_other("/".join(["/acs", authentication.transaction_id, *below]))


def _page(authentication: Authentication, *, status: int = 200) -> HttpResponse:
    facts = {
        "transaction_id": authentication.transaction_id,
        "merchant_name": authentication.merchant_name,
        "amount": money.written(authentication.amount, authentication.currency),
        "installments": authentication.installments,
        "parts": money.written_split(
            authentication.amount, authentication.currency, authentication.installments
        ),
        "brand": authentication.brand,
        "last4": authentication.last4,
        "is_asked_again": status == BAD_REQUEST,
    }
    if authentication.state == AuthenticationState.CHALLENGED:
        return pages.show_form("acs", facts, status=status)
    facts["is_authenticated"] = authentication.state == AuthenticationState.AUTHENTICATED
    posting = _posting(authentication)
    if posting is None:
        return fall_silent()
    facts["callback_url"], facts["answer"] = posting.url, posting.fields
    facts["encoding"] = posting.encoding
    return pages.show_form("answer", facts, status=status)


def _posting(authentication: Authentication) -> Posting | None:
    """Return what the browser carries to the shop, at the door that the payer came in by."""
    visited = _visited(authentication)
    if visited is not None:
        gate, visit = visited
        return gate.posting(visit)
    return Posting(authentication.callback_url, authentications.answer(authentication))


def _visited(authentication: Authentication) -> tuple[Gate, GateVisit] | None:
    for gate in GATES:
        visit = gates.visit_of(gate, authentication)
        if visit is not None:
            return gate, visit
    return None
