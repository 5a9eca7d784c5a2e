"""The NestPay doors: the API for shops, and the 3-D gate for payers' browsers.

An answer of the API has HTTP status 200, whatever is in it.
"""

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_POST

from core import context
from testbank import misbehaviours
from testbank.nestpay import answers, gate, host, messages, mischief, returns
from testbank.nestpay.messages import Message, Refused
from testbank.nestpay.terminals import FIRST
from testbank.protocols import bad_answers, entrances
from testbank.silence import fall_silent


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
            return HttpResponse(content, content_type=bad_answers.XML)
        return _answer(message)


@require_POST
def enter_gate(request: HttpRequest) -> HttpResponse:
    """Take a payer's browser in by the form of a shop, and send it to the issuer's page."""
    return entrances.let_in(request, returns.GATE, gate.enter)


def _answer(message: Message) -> HttpResponseBase:
    wrong = misbehaviours.take(message.kind)
    if wrong == "silent_before":
        return fall_silent()
    told = mischief.refusal(wrong)
    if told is None:
        told = mischief.untrue(wrong, host.ask(message, wrong))
    if told.is_silent or wrong in bad_answers.SILENT:
        return fall_silent()
    if wrong == "late":
        fall_silent()
    order_id = bad_answers.OTHER_ORDER if wrong == "other_order" else _order_id(message, told)
    content = answers.written(told, order_id, message.terminal)
    return bad_answers.spoiled(wrong, content, mischief.SPELLING)


def _order_id(message: Message, told: answers.Told) -> str:
    """Return the order id of an answer: a status that was not found has none."""
    is_missing = message.kind == messages.STATUS and not told.extra
    return "" if is_missing else message.order_id
