"""The NestPay doors: the API for shops. An answer has HTTP status 200, whatever is in it."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_POST

from testbank.nestpay import answers, host, messages
from testbank.nestpay.messages import Message, Refused
from testbank.nestpay.terminals import FIRST
from testbank.silence import fall_silent


@require_POST
def api(request: HttpRequest) -> HttpResponse:
    """Answer a request of the API."""
    try:
        message = messages.read(request.headers.get("Content-Type", ""), request.body)
    except Refused as refused:
        # Nobody's terminal yet: in the encoding of the first.
        content = answers.written(answers.refusal(refused.code), refused.order_id, FIRST)
        return _xml(content)
    return _answer(message)


def _answer(message: Message) -> HttpResponse:
    told = host.ask(message)
    if told.is_silent:
        return fall_silent()
    return _xml(answers.written(told, _order_id(message, told), message.terminal))


def _order_id(message: Message, told: answers.Told) -> str:
    """Return the order id of an answer: a status that was not found has none."""
    is_missing = message.kind == messages.STATUS and not told.extra
    return "" if is_missing else message.order_id


def _xml(content: bytes) -> HttpResponse:
    return HttpResponse(content, content_type="text/xml")
