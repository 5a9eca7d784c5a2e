"""The Garanti doors: the API for shops, and the 3-D gate for payers' browsers.

An answer of the API has HTTP status 200, whatever is in it.
"""

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_POST

from core import context
from testbank import misbehaviours
from testbank.garanti import answers, gate, host, messages, mischief, returns
from testbank.garanti.messages import Message, Refused
from testbank.protocols import bad_answers, entrances
from testbank.silence import fall_silent


@require_POST
def api(request: HttpRequest) -> HttpResponseBase:
    """Answer a request of the API."""
    # One piece of work, so that the clock is read once.
    with context.work():
        try:
            message = messages.read(request.body)
        except Refused as refused:
            told = answers.refusal(refused.code)
            content = answers.written(told, refused.order_id, refused.security)
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
    order_id = bad_answers.OTHER_ORDER if wrong == "other_order" else message.order_id
    key = mischief.signing_key(wrong)
    content = answers.written(told, order_id, message.security, key=key)
    return bad_answers.spoiled(wrong, content, mischief.SPELLING)
