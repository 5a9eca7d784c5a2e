"""The NestPay doors: the API for shops, and the 3-D gate for payers' browsers.

An answer of the API has HTTP status 200, whatever is in it.
"""

from collections.abc import Mapping

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_POST

from core import context
from testbank import misbehaviours, pages
from testbank.nestpay import answers, gate, host, messages, mischief, returns
from testbank.nestpay.messages import Message, Refused
from testbank.nestpay.terminals import FIRST
from testbank.refusals import refuse
from testbank.silence import fall_silent
from testbank.states import AuthenticationState


@require_POST
def api(request: HttpRequest) -> HttpResponseBase:
    """Answer a request of the API."""
    # One piece of work, so that the clock is read once.
    with context.work():
        try:
            message = messages.read(request.headers.get("Content-Type", ""), request.body)
        except Refused as refused:
            # Nobody's terminal yet: in the encoding of the first.
            content = answers.written(answers.refusal(refused.code), refused.order_id, FIRST)
            return HttpResponse(content, content_type=mischief.XML)
        return _answer(message)


@require_POST
def enter_gate(request: HttpRequest) -> HttpResponse:
    """Take a payer's browser in by the form of a shop, and send it to the issuer's page."""
    try:
        authentication = gate.enter(request.body, request.META.get("REMOTE_ADDR") or "127.0.0.1")
    except gate.NoWayBack:
        return refuse(request, 400)
    except gate.Returned as returned:
        return _back(returned.url, returned.fields)
    if authentication.state != AuthenticationState.CANNOT_START:
        return pages.see_other(f"/acs/{authentication.transaction_id}")
    visit = returns.visit_of(authentication)
    posting = returns.posting(visit) if visit else None
    assert posting is not None  # Without a cardholder's yes nothing is charged.
    return _back(posting.url, posting.fields)


def _back(url: str, fields: Mapping[str, str]) -> HttpResponse:
    return pages.show_form("returned", {"callback_url": url, "answer": fields, "encoding": "UTF-8"})


def _answer(message: Message) -> HttpResponseBase:
    wrong = misbehaviours.take(message.kind)
    if wrong == "silent_before":
        return fall_silent()
    told = mischief.refusal(wrong)
    if told is None:
        told = mischief.untrue(wrong, host.ask(message, wrong))
    if told.is_silent or wrong in mischief.SILENT:
        return fall_silent()
    if wrong == "late":
        fall_silent()
    order_id = mischief.OTHER_ORDER if wrong == "other_order" else _order_id(message, told)
    return mischief.spoiled(wrong, answers.written(told, order_id, message.terminal))


def _order_id(message: Message, told: answers.Told) -> str:
    """Return the order id of an answer: a status that was not found has none."""
    is_missing = message.kind == messages.STATUS and not told.extra
    return "" if is_missing else message.order_id
