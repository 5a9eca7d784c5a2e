"""The bank's HTTP doors, for the gateway of a sandbox installation.

What cannot be read raises `orders.Malformed`; handler.py answers it with 400.
"""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_GET, require_POST

from core import clock
from testbank import (
    authentications,
    behaviours,
    book,
    captures,
    disputes,
    notices,
    orders,
    refunds,
    statements,
    voids,
)
from testbank.models import Authorization, Notice, Refund
from testbank.silence import fall_silent
from testbank.states import AuthenticationState, State

THREE_D_SECURE_VERSION = "2.2.0"
RESULTS = {
    State.AUTHORIZED: "approved",
    State.DECLINED: "declined",
    State.BLOCKED: "declined",
    State.DEMANDED_AUTHENTICATION: "authentication_required",
    State.PENDING: "pending",
    State.VOIDED: "voided",
    State.LAPSED: "lapsed",
}


@require_POST
def authenticate(request: HttpRequest) -> HttpResponse:
    """Begin 3-D Secure: answer the address for the payer's browser, if there is one."""
    authentication = authentications.begin(orders.read_authentication(request.body))
    told = {"reference": authentication.reference}
    if authentication.state == AuthenticationState.CANNOT_START:
        return JsonResponse({**told, "result": "cannot_start"})
    transaction_id = authentication.transaction_id
    return JsonResponse(
        {
            **told,
            "result": "challenge",
            "transaction_id": transaction_id,
            "acs_url": f"{settings.TESTBANK_PUBLIC_URL}/acs/{transaction_id}",
            "version": THREE_D_SECURE_VERSION,
        }
    )


@require_POST
def authorize(request: HttpRequest) -> HttpResponse:
    """Authorise a card. The book is committed before anything is said, or kept silent."""
    authorization = book.authorize(orders.read_authorization(request.body))
    return JsonResponse(_told(authorization)) if authorization.answered else fall_silent()


@require_GET
def inquire(_request: HttpRequest, reference: str) -> HttpResponse:
    """Answer how an authorisation ended.

    "No record" is an answer with content and not a 404, which any proxy could give.
    """
    authorization = book.look_up(reference)
    if authorization is None:
        return JsonResponse({"reference": reference, "result": "no_record"})
    told = {**_told(authorization), "captured_amount": authorization.captured_amount}
    if authorization.state == State.PENDING and not authorization.answered:
        told["result"] = "unknown"  # The bank itself does not know, and never will.
    return JsonResponse(told)


@require_POST
def capture(request: HttpRequest, reference: str) -> HttpResponse:
    """Take the money of an authorisation, once."""
    amount = orders.read_amount(request.body)
    answer = captures.capture(reference, amount=amount)
    return JsonResponse(
        {
            "reference": reference,
            "result": "captured" if answer.is_captured else "refused",
            "captured_amount": answer.captured_amount,
            "response_code": answer.response_code,
        }
    )


@require_POST
def void(_request: HttpRequest, reference: str) -> HttpResponse:
    """Take an authorisation back whole."""
    code = voids.void(reference)
    result = "voided" if code == behaviours.APPROVED else "refused"
    return JsonResponse({"reference": reference, "result": result, "response_code": code})


@require_POST
def refund(request: HttpRequest) -> HttpResponse:
    """Give captured money back to the card, once per reference."""
    order = orders.read_refund(request.body)
    done = refunds.refund(order)
    if done is None:
        told = {"authorization": order.authorization, "amount": order.amount}
        code = {"response_code": behaviours.NO_SUCH_RECORD, "network_reference": None}
        return JsonResponse({"reference": order.reference, "result": "refused", **told, **code})
    return JsonResponse(_told_of_refund(done))


@require_GET
def inquire_refund(_request: HttpRequest, reference: str) -> HttpResponse:
    """Answer how a refund ended; "no record" is an answer here too."""
    found = refunds.look_up(reference)
    if found is None:
        return JsonResponse({"reference": reference, "result": "no_record"})
    return JsonResponse(_told_of_refund(found))


@require_GET
def tell_notices(request: HttpRequest) -> HttpResponse:
    """Bring the book up to date; answer a page of the notices behind a number."""
    after = orders.read_notice_number(request.GET.get("after", "0"))
    book.catch_up()
    return JsonResponse({"notices": [_told_notice(one) for one in notices.behind(after)]})


@require_POST
def take_evidence(request: HttpRequest, reference: str) -> HttpResponse:
    """Take evidence against a dispute, each submission once."""
    submission = orders.read_submission(request.body)
    return _receipt(reference, disputes.submit(reference, submission))


@require_POST
def take_acceptance(_request: HttpRequest, reference: str) -> HttpResponse:
    """Take it that the merchant gives a dispute up."""
    return _receipt(reference, disputes.accept(reference))


@require_POST
def take_end(_request: HttpRequest, reference: str) -> HttpResponse:
    """Take it that the merchant lets an inquiry end."""
    return _receipt(reference, disputes.end_inquiry(reference))


@require_GET
def statement(request: HttpRequest) -> HttpResponse:
    """Answer the book's orders, in order of the references, a page at a time."""
    book.catch_up()
    after = orders.read_reference(request.GET.get("after", ""))
    return _page(statements.page(after))


@require_GET
def statement_of_refunds(request: HttpRequest) -> HttpResponse:
    """Answer all refunds, in order of their orders' references and their own, a page at a time."""
    book.catch_up()
    after, refund = (
        orders.read_reference(request.GET.get(name, "")) for name in ("after", "refund")
    )
    return _page(statements.page_of_refunds(after, refund))


def _page(lines: list[dict[str, Any]]) -> HttpResponse:
    """Answer lines of a statement; a full page may have others behind it."""
    return JsonResponse({"lines": lines, "has_more": len(lines) == statements.LINES})


@require_GET
def healthz(_request: HttpRequest) -> HttpResponse:
    return JsonResponse({"status": "ok"})


def _told(authorization: Authorization) -> dict[str, Any]:
    return {
        "reference": authorization.reference,
        "result": RESULTS[State(authorization.state)],
        "response_code": authorization.response_code,
        "authorization_code": authorization.authorization_code or None,
        "network_reference": authorization.network_reference,
        "risk": {"level": authorization.risk_level, "score": authorization.risk_score},
    }


def _told_of_refund(refund: Refund) -> dict[str, Any]:
    return {
        "reference": refund.reference,
        "result": refund.state,
        "authorization": refund.authorization.reference,
        "amount": refund.amount,
        "response_code": refund.response_code,
        "network_reference": refund.network_reference or None,
    }


def _told_notice(notice: Notice) -> dict[str, Any]:
    return {
        "number": notice.number,
        "kind": notice.kind,
        "reference": notice.authorization.reference,
        "refund_reference": notice.refund.reference if notice.refund else None,
        "dispute": notice.dispute.reference if notice.dispute else None,
        "amount": notice.amount,
        "currency": notice.authorization.currency,
        "reason": notice.reason or None,
        "network_reason_code": notice.network_reason_code or None,
        "due_by": clock.unix(notice.due_by) if notice.due_by else None,
        "at": clock.unix(notice.created_at),
    }


def _receipt(dispute: str, code: str) -> HttpResponse:
    result = "on_record" if code == behaviours.APPROVED else "refused"
    return JsonResponse({"dispute": dispute, "result": result, "response_code": code})
