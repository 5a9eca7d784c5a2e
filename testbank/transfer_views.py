"""The bank's HTTP doors to transfers, for the sandbox's adapter."""

import time
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_GET, require_POST

from core import clock, connections
from testbank import incoming, orders, transfer_notices, transfers
from testbank.models import Transfer, TransferNotice


@require_POST
def send(request: HttpRequest) -> HttpResponse:
    """Take a transfer. The book is committed before anything is said, or kept silent."""
    transfer = transfers.send(orders.read_transfer(request.body))
    if transfers.manner_of(transfer).is_silent:
        connections.give_back()
        time.sleep(settings.TESTBANK_SILENCE_SECONDS)
        return HttpResponse(status=504)
    return JsonResponse(_answer(transfer))


@require_GET
def inquire(_request: HttpRequest, reference: str) -> HttpResponse:
    """Answer how a transfer ended; "no record" is an answer with content."""
    transfer = transfers.look_up(reference)
    if transfer is None:
        return JsonResponse({"reference": reference, "result": "no_record"})
    return JsonResponse(_answer(transfer))


@require_GET
def tell_notices(request: HttpRequest) -> HttpResponse:
    """Bring the book up to date; answer a page of the notices behind a number."""
    after = orders.read_notice_number(request.GET.get("after", "0"))
    transfers.catch_up()
    incoming.catch_up()
    return JsonResponse({"notices": [_told_notice(one) for one in transfer_notices.behind(after)]})


@require_GET
def statement(request: HttpRequest) -> HttpResponse:
    """Answer all transfers, in order of the references, a page at a time."""
    transfers.catch_up()
    after = orders.read_reference(request.GET.get("after", ""))
    lines = [
        {**_told(one), "merchant": one.merchant, "moved": one.moved}  # type: ignore[attr-defined]
        for one in transfers.page(after)
    ]
    return JsonResponse({"lines": lines})


@require_POST
def expect(request: HttpRequest) -> HttpResponse:
    """Take note of a transfer that is to come in, and make it as its sender would."""
    order = orders.read_expected(request.body)
    incoming.expect(order)
    return JsonResponse({"reference": order.reference, "result": "expected"})


@require_GET
def statement_of_incoming(request: HttpRequest) -> HttpResponse:
    """Answer all transfers that came in, in order of the bank's names, a page at a time."""
    incoming.catch_up()
    after = orders.read_reference(request.GET.get("after", ""))
    lines = [
        {
            "reference": one.reference,
            "amount": one.amount,
            "moved": one.moved,  # type: ignore[attr-defined]
            "currency": one.currency,
        }
        for one in incoming.page(after)
    ]
    return JsonResponse({"lines": lines})


def _answer(transfer: Transfer) -> dict[str, Any]:
    arrived_at = transfers.arrived_at(transfer)
    return {**_told(transfer), "arrived_at": clock.unix(arrived_at) if arrived_at else None}


def _told(transfer: Transfer) -> dict[str, Any]:
    return {
        "reference": transfer.reference,
        "result": transfer.state,
        "amount": transfer.amount,
        "currency": transfer.currency,
        "failure_code": transfer.failure_code or None,
        "trace_id": transfer.trace_id,
    }


def _told_notice(notice: TransferNotice) -> dict[str, Any]:
    about: Any = notice.transfer or notice.incoming
    return {
        "number": notice.number,
        "kind": notice.kind,
        "reference": about.reference,
        "amount": about.amount,
        "currency": about.currency,
        "failure_code": notice.failure_code or None,
        "trace_id": notice.transfer.trace_id if notice.transfer else None,
        "remittance": notice.incoming.remittance if notice.incoming else None,
        "at": clock.unix(notice.created_at),
    }
