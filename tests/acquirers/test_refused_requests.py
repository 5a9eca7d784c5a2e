"""Requests that an acquirer refuses before it asks a bank: payments fail, operators hear of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from unittest.mock import patch

import pytest
import structlog
from django.db import connection
from django.test.utils import CaptureQueriesContext

from acquirers import declines, refused_requests, terminals
from acquirers.conversation import answers
from acquirers.models import Terminal
from acquirers.outcomes import Answer, Exchange, Outcome, Reason
from acquirers.sandbox.gateway import SandboxGateway
from payments.intents.models import Attempt
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient

EXCHANGE = Exchange(code="GVPS/92/0651", text="Hash mismatch")
REFUSED, APPROVED = Outcome(Answer.NOT_CHARGED, exchange=EXCHANGE), Outcome(Answer.APPROVED)
OF_THE_CARD = Outcome(Answer.NOT_CHARGED, exchange=EXCHANGE, reason=Reason.INCORRECT_NUMBER)
UNKNOWN, NOT_SENT = Outcome(Answer.UNKNOWN), Outcome(Answer.NOT_SENT)


@pytest.fixture
def terminal(db: None) -> Terminal:
    return Terminal.objects.get(name="sandbox")


def alerts(*outcomes: Outcome, terminal: Terminal) -> list[tuple[str, str, int]]:
    """Return the errors in the log; each request reads its terminal anew, as any process would."""
    with structlog.testing.capture_logs() as logged:
        for outcome in outcomes:
            row = Terminal.objects.get(id=terminal.id)
            watched = refused_requests.watched(row, outcome)
            assert watched == outcome
            refused_requests.count(watched)
    return [
        (line["terminal"], line["bank_code"], line["in_a_row"])
        for line in logged
        if (line["event"], line["log_level"]) == ("terminal_refused_requests", "error")
    ]


@pytest.mark.every_case("each answer counts in its own way")
@pytest.mark.parametrize(
    ("outcomes", "count", "left"),
    [
        ([REFUSED] * 2, 0, 2),
        ([REFUSED] * 3, 1, 3),
        ([REFUSED] * 7, 2, 7),
        ([REFUSED, REFUSED, APPROVED, REFUSED, REFUSED], 0, 2),
        # The acquirer has looked at the payment, so that the set-up is right.
        ([OF_THE_CARD] * 7, 0, 0),
        ([REFUSED, REFUSED, OF_THE_CARD, REFUSED, REFUSED], 0, 2),
        # The acquirer may not have seen these.
        ([REFUSED, UNKNOWN, REFUSED, NOT_SENT, REFUSED], 1, 3),
        ([APPROVED, UNKNOWN, NOT_SENT], 0, 0),
    ],
)
def test_every_third_refusal_in_a_row_is_an_alert(
    outcomes: list[Outcome], count: int, left: int, terminal: Terminal
) -> None:
    assert len(alerts(*outcomes, terminal=terminal)) == count
    terminal.refresh_from_db()
    assert terminal.refused_in_a_row == left


def test_the_alert_names_the_terminal_and_the_banks_code(terminal: Terminal) -> None:
    assert alerts(*[REFUSED] * 3, terminal=terminal) == [("sandbox", "GVPS/92/0651", 3)]


def test_terminals_are_counted_apart(terminal: Terminal) -> None:
    other = terminals.add("other", kind="sandbox")

    assert alerts(REFUSED, REFUSED, terminal=terminal) == alerts(REFUSED, terminal=other) == []


def test_a_request_that_is_taken_writes_nothing_where_none_was_refused(terminal: Terminal) -> None:
    assert refused_requests.watched(terminal, APPROVED) is APPROVED


def test_a_request_before_an_inquiry_counts(terminal: Terminal) -> None:
    refused = refused_requests.watched(terminal, REFUSED)
    in_doubt = answers.in_doubt(refused)

    refused_requests.count(replace(UNKNOWN, is_from_inquiry=True, after=in_doubt))

    terminal.refresh_from_db()
    assert terminal.refused_in_a_row == 1


@contextmanager
def everything_refused(outcome: Outcome = REFUSED) -> Iterator[None]:
    def refuse(*_question: object, **_details: object) -> Outcome:
        return outcome

    with patch.multiple(
        SandboxGateway, authorize=refuse, capture=refuse, void=refuse, refund=refuse
    ):
        yield


@pytest.mark.django_db(databases=["default", "bank"])
def test_a_refused_request_fails_the_payment_and_blames_nobody(
    acme: ApiClient, bank: BankTransport
) -> None:
    with everything_refused():
        paid = acme.pay()

    error = paid["last_payment_error"]
    assert paid["status"] == "requires_payment_method"
    assert (error["type"], error["code"]) == ("api_error", "processing_error")
    assert "0651" not in str(paid.body)
    assert bank.seen == []


@pytest.mark.django_db(databases=["default", "bank"])
def test_payments_captures_and_refunds_count_together_until_one_is_taken(
    acme: ApiClient, bank: BankTransport, terminal: Terminal
) -> None:
    held, paid = acme.pay(capture_method="manual"), acme.pay()

    with everything_refused(), structlog.testing.capture_logs() as logged:
        acme.pay()
        acme.post(f"/v1/payment_intents/{held['id']}/capture")
        acme.refund(paid["id"], 100)

    errors = [line["in_a_row"] for line in logged if line["event"] == "terminal_refused_requests"]
    assert errors == [3]
    assert refused_in_a_row(terminal) == 3
    with CaptureQueriesContext(connection) as first:
        acme.pay()
    with CaptureQueriesContext(connection) as second:
        acme.pay()
    assert refused_in_a_row(terminal) == 0
    assert (counting(first), counting(second)) == (1, 0)


def refused_in_a_row(terminal: Terminal) -> int:
    terminal.refresh_from_db()
    return terminal.refused_in_a_row


def counting(statements: CaptureQueriesContext) -> int:
    return sum("SET refused_in_a_row" in one["sql"] for one in statements.captured_queries)


@pytest.mark.django_db(databases=["default", "bank"])
@pytest.mark.parametrize("door", ["capture", "cancel"])
def test_a_refused_capture_or_void_changes_nothing(
    door: str, acme: ApiClient, bank: BankTransport
) -> None:
    held = acme.pay(capture_method="manual")

    with everything_refused():
        answer = acme.post(f"/v1/payment_intents/{held['id']}/{door}")

    assert answer.refusal == (503, "upstream_unavailable", None)
    assert acme.payment(held["id"])["status"] == "requires_capture"
    assert acme.post(f"/v1/payment_intents/{held['id']}/{door}").status == 200


@pytest.mark.django_db(databases=["default", "bank"])
@pytest.mark.parametrize("reason", Reason)
def test_a_reason_without_a_response_code_is_shown_as_any_other(
    reason: Reason, acme: ApiClient, bank: BankTransport
) -> None:
    decline = declines.BY_REASON[reason]

    with everything_refused(Outcome(Answer.NOT_CHARGED, exchange=EXCHANGE, reason=reason)):
        paid = acme.pay()

    error = paid["last_payment_error"]
    assert (error["type"], error["code"]) == ("card_error", decline.code)
    assert (error["decline_code"], error["network_decline_code"]) == (reason.value, None)
    assert error["advice_code"] == decline.advice_code
    assert Attempt.objects.get().is_declined is (decline is not declines.PROCESSING_ERROR)


@pytest.mark.django_db(databases=["default", "bank"])
def test_a_declined_refund_fails_for_its_reason(acme: ApiClient, bank: BankTransport) -> None:
    paid = acme.pay()
    declined = Outcome(Answer.DECLINED, exchange=EXCHANGE, reason=Reason.EXPIRED_CARD)

    with patch.object(SandboxGateway, "refund", lambda *_, **__: declined):
        back = acme.refund(paid["id"], 100)

    assert (back["status"], back["failure_reason"]) == ("failed", "expired_or_canceled_card")
