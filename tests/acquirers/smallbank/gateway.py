"""The adapter of the small bank, written from the bank's notes and the page about adapters."""

import json
import secrets
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import requests
from django.conf import settings

from acquirers import messages, wire
from acquirers.calls import Course
from acquirers.gateway import (
    AuthenticationRequest,
    AuthorizationRequest,
    Capabilities,
    IssuerFacts,
    Order,
    SoughtRefund,
    StatementLine,
)
from acquirers.models import Terminal
from acquirers.noticed import Notice
from acquirers.outcomes import Answer, BankOperation, Finding, OperationKind, Outcome, Standing
from acquirers.set_up import ADDRESS, PASSWORD, Field
from acquirers.settlement import Reader
from acquirers.terminals import CredentialsUnreadable, credentials_of
from acquirers.three_d_secure import AskTheBank, Form, FormPost, Redirect, Return
from core import context
from tests.acquirers.smallbank.bank import (
    CAPTURE,
    HISTORY,
    OK,
    PREAUTH,
    REFUND,
    SALE,
    VOID,
    signature,
)

ANSWERS = {OK: Answer.APPROVED, "VPS-0005": Answer.DECLINED, "VPS-1001": Answer.NOT_CHARGED}
ISO = {"VPS-0005": "05"}
DEEDS = {
    SALE: (OperationKind.AUTHORIZATION, OperationKind.CAPTURE),
    PREAUTH: (OperationKind.AUTHORIZATION,),
    CAPTURE: (OperationKind.CAPTURE,),
    VOID: (OperationKind.VOID,),
    REFUND: (OperationKind.REFUND,),
}
NO_DISPUTES = Outcome(Answer.NOT_CHARGED)


class SmallBankGateway:
    fields = (Field("api_url", form=ADDRESS), Field("store_key", is_secret=True, form=PASSWORD))
    capabilities = Capabilities(
        references_are_idempotent=False,
        inquires_modifications=True,
        voids_partially=False,
        cvc_at_handoff=False,
        refunds_are_idempotent=False,
        refunds_have_names=False,
    )
    built_in_bins: Mapping[str, IssuerFacts] = {}
    settlement_reader: Reader | None = None

    def __init__(self) -> None:
        self.session: requests.Session = wire.new_session()

    def capabilities_at(self, terminal: Terminal) -> Capabilities:
        return self.capabilities

    def accepts(self, terminal: Terminal, number: str) -> bool:
        return True

    def authorize(self, request: AuthorizationRequest) -> Outcome:
        order = request.order
        try:
            card = messages.revealed(request.sealed)
        except wire.NotSent:
            return Outcome(Answer.NOT_SENT)
        shown = {"number": card.number, "cvc": request.cvc}
        sent = {"amount": order.amount, "card": shown, "clientIp": order.payer.ip}
        return self._change(order, SALE if request.capture else PREAUTH, sent)

    def begin(self, request: AuthenticationRequest) -> Redirect | FormPost | None:
        return None

    def handoff(self, request: AuthenticationRequest, url: str) -> Form | None:
        return None

    def read_return(self, order: Order, raw: bytes, content_type: str) -> Return:
        return AskTheBank()

    def capture(self, order: Order, *, amount: int) -> Outcome:
        return self._change(order, CAPTURE, {"amount": amount})

    def void(self, order: Order) -> Outcome:
        return self._change(order, VOID, {})

    def voidable_until(self, terminal: Terminal, captured_at: datetime) -> datetime | None:
        return captured_at  # This trial's bank has no open day: money goes back by refunds.

    def refund(self, order: Order, *, reference: str, amount: int) -> Outcome:
        return self._change(order, REFUND, {"amount": amount})

    def inquire(self, order: Order) -> Standing:
        course = Course()
        try:
            told = self._send(order, HISTORY, {}, course)
            operations = tuple(one for line in told["lines"] for one in _operations(line))
        except (wire.NotSent, wire.NoAnswer, CredentialsUnreadable, LookupError, TypeError):
            return Standing(Finding.UNKNOWN, exchange=course.ended())
        finding = Finding.FOUND if operations else Finding.NO_RECORD
        return Standing(finding, operations, exchange=course.ended(code=told["responseCode"]))

    def inquire_refund(self, order: Order, *, sought: SoughtRefund) -> Standing:
        found = self.inquire(order)
        refunds = tuple(one for one in found.operations if one.deed is OperationKind.REFUND)
        finding = Finding.NO_RECORD if found.finding is Finding.FOUND else found.finding
        return Standing(Finding.FOUND if refunds else finding, refunds, exchange=found.exchange)

    def notices(self, terminal: Terminal, *, after: int, limit: int = 200) -> list[Notice] | None:
        return None

    def submit_evidence(
        self, order: Order, *, dispute: str, number: int, evidence: Mapping[str, str]
    ) -> Outcome:
        return NO_DISPUTES

    def accept_dispute(self, order: Order, *, dispute: str) -> Outcome:
        return NO_DISPUTES

    def end_inquiry(self, order: Order, *, dispute: str) -> Outcome:
        return NO_DISPUTES

    def statement(self, terminal: Terminal, *, after: str = "") -> Iterator[StatementLine] | None:
        return None

    def _change(self, order: Order, code: int, sent: Mapping[str, Any]) -> Outcome:
        course = Course()
        try:
            told = self._send(order, code, sent, course)
        except (wire.NotSent, CredentialsUnreadable):
            return Outcome(Answer.NOT_SENT)
        except wire.NoAnswer:
            return Outcome(Answer.UNKNOWN, exchange=course.ended())
        response = str(told.get("responseCode"))
        is_ours = told.get("orderId") == order.reference or response == "VPS-1001"
        return Outcome(
            ANSWERS.get(response, Answer.UNKNOWN) if is_ours else Answer.UNKNOWN,
            response_code=ISO.get(response),
            exchange=course.ended(code=response, numbers={"number": told.get("number")}),
        )

    def _send(
        self, order: Order, code: int, sent: Mapping[str, Any], course: Course
    ) -> dict[str, Any]:
        terminal = credentials_of(order.terminal)
        random = secrets.token_hex(64)
        told = {"txnCode": code, "orderId": order.reference, "randomNumber": random, **sent}
        body = json.dumps(told).encode()
        mark = {"auth-hash": signature(body, terminal["store_key"])}
        seconds = min(settings.ACQUIRER_TIMEOUT_SECONDS, context.remaining_seconds())
        if seconds <= 0:
            raise wire.NotSent
        received = wire.post(
            self.session, terminal["api_url"], body, "application/json", seconds=seconds,
            headers=mark,
        )  # fmt: skip
        try:
            answer: dict[str, Any] = json.loads(received.content)
        except ValueError:
            raise wire.NoAnswer from None
        return answer


def _operations(line: Mapping[str, Any]) -> list[BankOperation]:
    state = ANSWERS.get(line["responseCode"], Answer.UNKNOWN)
    at = datetime.fromtimestamp(line["at"], UTC)
    deeds = DEEDS[line["txnCode"]] if state is Answer.APPROVED else DEEDS[line["txnCode"]][:1]
    numbers = {"number": line["number"]}
    return [BankOperation(deed, state, line["amount"], numbers, at) for deed in deeds]
