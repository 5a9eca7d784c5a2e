"""A payer on the way through 3-D Secure: our page, the bank's, and back."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from django.test import Client

from payments.intents.models import Attempt
from payments.payer import payer_links
from tests.stage import protocol_gate
from tests.stage.bank_transport import IN_PROCESS_URL
from tests.stage.client import Answer, ApiClient
from tests.stage.factories import GOOD_CARD, RETURN_URL, three_d_secure
from tests.stage.oldbank import gate_walk
from tests.stage.payer import FORM, FormOnPage, Page, open_challenge, press


def challenged(client: ApiClient, number: str = GOOD_CARD, **changes: Any) -> Answer:
    """Make a payment whose payer must go to the bank."""
    sent = {"return_url": RETURN_URL, **three_d_secure("required"), **changes}
    answer = client.pay(number, **sent)
    assert answer["status"] == "requires_action", answer.body
    return answer


def shown(client: ApiClient, paid: Answer) -> Answer:
    """Return the payment as it is shown now."""
    return client.payment(paid["id"])


@dataclass
class Arrival:
    """Where the payer's browser is after it came back to us."""

    status: int
    location: str | None
    text: str


def hand_off(payment: Answer) -> Page:
    """Open the page that the payment names, as a browser without cookies."""
    return open_page(_path_of(payment))


def open_page(path: str) -> Page:
    return _page(Client().get(path))


def _page(response: Any) -> Page:
    return Page(response.status_code, dict(response.headers), response.content)


def decide(payment: Answer, button: str) -> FormOnPage:
    """Go to the bank and press a button; return the form that brings its answer to us.

    At a bank that takes the card from the browser our own button is pressed first.
    """
    page = hand_off(payment)
    if page.form.action != _path_of(payment):
        return press(open_challenge(page.form.action), button).form
    gate = pressed(payment)
    if gate.action.startswith(IN_PROCESS_URL):
        return protocol_gate.walk(gate, button)
    back = gate_walk.walk(gate.action, gate.fields, button)
    return FormOnPage(back.url, "post", dict(parse_qsl(back.body.decode(), True)))


def pressed(payment: Answer) -> FormOnPage:
    """Press our own button; return the form with the card that goes to the bank's gate."""
    browser, path = Client(), _path_of(payment)
    browser.get(path)
    return _page(browser.post(path)).form


def _path_of(payment: Answer) -> str:
    return urlsplit(payment["next_action"]["redirect_to_url"]["url"]).path


def return_to(payment: Answer | str) -> str:
    """Return the path to which the payment's payer brings the bank's answer."""
    payment_id = payment if isinstance(payment, str) else payment["id"]
    attempt = (
        Attempt.objects.filter(intent_id=payment_id).exclude(acs_url=None).latest("created_at")
    )
    return payer_links.return_path(attempt)


def return_of(fields: dict[str, Any]) -> str:
    """Return the path that the bank was given for the attempt of its answer."""
    reference = fields.get("reference") or fields.get("orderid") or fields.get("oid", "")
    known = Attempt.objects.filter(acquirer_reference=reference).first()
    return payer_links.return_path(
        known or Attempt.objects.exclude(acs_url=None).latest("created_at")
    )


def bring(
    fields: dict[str, Any] | bytes, *, content_type: str = FORM, to: str | None = None
) -> Arrival:
    """Bring an answer of the bank to us, as the payer's browser does."""
    sent = fields if isinstance(fields, bytes) else urlencode(fields, doseq=True)
    path = to or return_of(fields if isinstance(fields, dict) else {})
    browser = Client(enforce_csrf_checks=True)
    response = browser.generic("POST", path, sent, content_type=content_type)
    return Arrival(response.status_code, response.get("Location"), response.content.decode())


def authenticate(payment: Answer, button: str = "Approve") -> Arrival:
    """Walk the whole way."""
    return bring(decide(payment, button).fields)
