"""The way in by a gate: a browser is sent to the page that asks, or back to the shop."""

from collections.abc import Callable, Mapping

from django.http import HttpRequest, HttpResponse

from testbank import pages
from testbank.models import Authentication
from testbank.protocols import gates
from testbank.protocols.gates import Gate
from testbank.refusals import refuse
from testbank.states import AuthenticationState

BAD_REQUEST = 400


def let_in(
    request: HttpRequest, gate: Gate, begin: Callable[[bytes, str], Authentication]
) -> HttpResponse:
    """Take a payer's browser in by the form of a shop, and send it to the issuer's page.

    :param begin: begins an authentication by a form and a payer's address.
    """
    try:
        authentication = begin(request.body, request.META.get("REMOTE_ADDR") or "127.0.0.1")
    except gates.NoWayBack:
        return refuse(request, BAD_REQUEST)
    except gates.Returned as returned:
        return _back(returned.url, returned.fields)
    if authentication.state != AuthenticationState.CANNOT_START:
        return pages.see_other(f"/acs/{authentication.transaction_id}")
    visit = gates.visit_of(gate, authentication)
    posting = gate.posting(visit)
    assert posting is not None  # Without a cardholder's yes nothing is charged.
    return _back(posting.url, posting.fields)


def _back(url: str, fields: Mapping[str, str]) -> HttpResponse:
    facts = {"callback_url": url, "answer": fields, "encoding": gates.UTF_8}
    return pages.show_form("returned", facts)
