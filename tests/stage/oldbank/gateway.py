"""The adapter of the old bank: XML in a form, nothing idempotent, the card in the payer's form.

It proves that the interface of `acquirers` holds for a bank that is unlike the sandbox's. A live
installation refuses it.
"""

import secrets
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, time, timedelta
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

import requests
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from acquirers import calls, wire
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
from acquirers.messages import installments, numeric, revealed, written
from acquirers.models import Terminal
from acquirers.noticed import Notice
from acquirers.outcomes import Answer, Outcome, Standing
from acquirers.sandbox import cards
from acquirers.set_up import ADDRESS, PASSWORD, Field
from acquirers.settlement import Reader
from acquirers.terminals import CredentialsUnreadable, credentials_of
from acquirers.three_d_secure import AskTheBank, Form, FormPost, Redirect, Return
from acquirers.wire import xml
from core import urls
from core.cards import CardData
from tests.stage.oldbank import answers, returns

FORM = "application/x-www-form-urlencoded"
ISTANBUL, DAY_ENDS = ZoneInfo("Europe/Istanbul"), time(22)


class OldBankGateway:
    """The way to the old bank; addresses and passwords are the terminal's credentials."""

    fields = (
        Field("api_url", form=ADDRESS),
        Field("gate_url", form=ADDRESS),
        Field("terminal"),
        Field("user"),
        Field("password", is_secret=True, form=PASSWORD),
        Field("store_key", is_secret=True, form=PASSWORD),
    )
    capabilities = Capabilities(
        references_are_idempotent=False,
        inquires_modifications=True,
        voids_partially=False,
        cvc_at_handoff=True,
        refunds_are_idempotent=False,
    )
    built_in_bins: Mapping[str, IssuerFacts] = cards.BUILT_IN_BINS
    settlement_reader: Reader | None = None

    def __init__(self) -> None:
        if settings.LIVEMODE:
            raise ImproperlyConfigured("The old bank belongs to the tests: this one is live.")
        self.session: requests.Session = wire.new_session()

    def capabilities_at(self, terminal: Terminal) -> Capabilities:
        """Return the same for all terminals."""
        return self.capabilities

    def accepts(self, terminal: Terminal, number: str) -> bool:
        """Take every number: a sandbox lets in none but test cards."""
        return True

    def authorize(self, request: AuthorizationRequest) -> Outcome:
        """Send one sale or pre-authorisation, with the card or with the proof."""
        request_type = "Sale" if request.capture else "PreAuth"
        return self._change(request.order, request_type, lambda: _payment(request))

    def capture(self, order: Order, *, amount: int) -> Outcome:
        """Take money of a pre-authorisation; the bank takes it once."""
        sent = {"Amount": written(amount), "Currency": numeric(order.currency)}
        outcome = self._change(order, "Capture", lambda: sent)
        return Outcome(
            outcome.answer,
            response_code=outcome.response_code,
            captured=amount if outcome.answer is Answer.APPROVED else None,
            exchange=outcome.exchange,
        )

    def void(self, order: Order) -> Outcome:
        """Release the order; the bank wants the number of the last payment or capture of it."""
        number = order.numbers.get("capture.trans_id") or order.numbers.get("trans_id")
        return self._change(order, "Void", lambda: {"TransId": number} if number else {})

    def inquire(self, order: Order) -> Standing:
        """Ask for the whole history: the plain inquiry hides the payment behind a modification."""
        return self._ask(order, "History", {}, answers.standing)

    def voidable_until(self, terminal: Terminal, captured_at: datetime) -> datetime | None:
        """Return the next ten in the evening in Istanbul, when the bank closes its day."""
        here = captured_at.astimezone(ISTANBUL)
        end = datetime.combine(here.date(), DAY_ENDS, ISTANBUL)
        return end if here < end else end + timedelta(days=1)

    def refund(self, order: Order, *, reference: str, amount: int) -> Outcome:
        """Give captured money back; sent again, it is given back again."""
        money = {"Amount": written(amount), "Currency": numeric(order.currency)}
        return self._change(order, "Refund", lambda: {"RefundId": reference, **money})

    def inquire_refund(self, order: Order, *, sought: SoughtRefund) -> Standing:
        """Ask for the refunds of this name, which the bank keeps apart from the order's others."""
        sent = {"RefundId": sought.reference}
        return self._ask(order, "RefundStatus", sent, answers.refund_standing)

    def notices(self, terminal: Terminal, *, after: int, limit: int = 200) -> list[Notice] | None:
        """Return None: this bank tells nothing by itself."""
        return None

    def submit_evidence(
        self, order: Order, *, dispute: str, number: int, evidence: Mapping[str, str]
    ) -> Outcome:
        """Refuse: this bank takes evidence on paper."""
        return Outcome(Answer.NOT_CHARGED)

    def accept_dispute(self, order: Order, *, dispute: str) -> Outcome:
        """Refuse: this bank takes its answers on paper."""
        return Outcome(Answer.NOT_CHARGED)

    def end_inquiry(self, order: Order, *, dispute: str) -> Outcome:
        """Refuse: this bank takes its answers on paper."""
        return Outcome(Answer.NOT_CHARGED)

    def begin(self, request: AuthenticationRequest) -> Redirect | FormPost | None:
        """Name the gate; the form is made when the payer arrives."""
        try:
            gate_url = credentials_of(request.order.terminal)["gate_url"]
        except CredentialsUnreadable:
            return None
        gate = urls.parse(gate_url)
        return FormPost(gate_url, (f"{gate.scheme}://{gate.host}:{gate.port}",))

    def handoff(self, request: AuthenticationRequest, url: str) -> Form | None:
        """Make the form with the card; None if card or credentials do not open."""
        order = request.order
        try:
            told, card = credentials_of(order.terminal), revealed(request.sealed)
        except (CredentialsUnreadable, wire.NotSent):
            return None
        signed = {
            "terminal": told["terminal"],
            "orderid": order.reference,
            "trantype": "Sale" if request.capture else "PreAuth",
            "amount": written(order.amount),
            "currency": numeric(order.currency),
            "installment": installments(order.installments),
            "callback": request.callback_url,
            "rnd": secrets.token_hex(8),
        }
        mark = returns.hashed([value.encode() for value in signed.values()], told["store_key"])
        fields = {
            **signed,
            "shop": request.merchant_name,
            "pan": card.number,
            "expiry": _expiry(card),
            "cvc": request.cvc or "",
            "hash": mark.decode(),
        }
        return Form(url, fields)

    def read_return(self, order: Order, raw: bytes, content_type: str) -> Return:
        """Verify the gate's answer by the terminal's key; the money in it must be the order's."""
        try:
            told = credentials_of(order.terminal)
        except CredentialsUnreadable:
            return AskTheBank()  # Nothing can be verified, and nothing is refused for that.
        signed = {
            "terminal": told["terminal"],
            "orderid": order.reference,
            "amount": written(order.amount),
            "currency": numeric(order.currency),
        }
        return returns.read(order, raw, content_type, signed=signed, store_key=told["store_key"])

    def statement(self, terminal: Terminal, *, after: str = "") -> Iterator[StatementLine] | None:
        """Return None: this bank has no list of its orders."""
        return None

    def _ask(
        self,
        order: Order,
        request_type: str,
        sent: Mapping[str, str],
        read: Callable[[wire.Received, Order, Course], Standing],
    ) -> Standing:
        def send(seconds: float) -> wire.Received:
            return self._send(order, request_type, sent, seconds)

        def standing(received: wire.Received, course: Course) -> Standing:
            return read(received, order, course)

        return calls.ask(order.terminal, send, standing)

    def _change(
        self, order: Order, request_type: str, sent: Callable[[], Mapping[str, str]]
    ) -> Outcome:
        def send(seconds: float) -> wire.Received:
            return self._send(order, request_type, sent(), seconds)

        def outcome(received: wire.Received, course: Course) -> Outcome:
            return answers.outcome(received, order, request_type, course)

        return calls.change(order.terminal, send, outcome)

    def _send(
        self, order: Order, request_type: str, sent: Mapping[str, str], seconds: float
    ) -> wire.Received:
        told = credentials_of(order.terminal)
        head = {
            "Terminal": told["terminal"],
            "User": told["user"],
            "Password": told["password"],
            "Type": request_type,
            "OrderId": order.reference,
        }
        body = urlencode(
            {"DATA": xml.write("BankRequest", {**head, **sent}, encoding="UTF-8")}
        ).encode()
        return wire.post(self.session, told["api_url"], body, FORM, seconds=seconds)


def _payment(request: AuthorizationRequest) -> dict[str, str]:
    order = request.order
    terms = {
        "Merchant": order.merchant_id,
        "Amount": written(order.amount),
        "Currency": numeric(order.currency),
        "Installment": installments(order.installments),
    }
    if request.proof:
        names = {"Md": "md", "Xid": "xid", "Eci": "eci", "Cavv": "cavv"}
        return {**terms, **{name: request.proof[key] for name, key in names.items()}}
    card = revealed(request.sealed)
    return {**terms, "Pan": card.number, "Expiry": _expiry(card), "Cvc": request.cvc or ""}


def _expiry(card: CardData) -> str:
    return f"{card.exp_month:02d}{card.exp_year % 100:02d}"
