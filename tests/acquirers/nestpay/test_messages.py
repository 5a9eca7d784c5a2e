"""Requests as the bank gets them, to the last byte, and amounts in every currency."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acquirers import messages
from acquirers.gateway import Order, Payer
from acquirers.nestpay.gateway import NestPayGateway
from acquirers.outcomes import Answer
from acquirers.three_d_secure import AuthenticationProof
from core import keyring
from core.money import MAX_REQUESTED_MINOR
from tests.stage.adapters import CARD, REFERENCE, payment
from tests.stage.scripted_bank import ScriptedBank

HEAD = (
    '<?xml version="1.0" encoding="ISO-8859-9"?><CC5Request><Name>api</Name>'
    "<Password>a &lt;password&gt; &amp; more</Password><ClientId>190100000</ClientId>"
)
ORDER = f"<OrderId>{REFERENCE}</OrderId>"
TERMS = "<Total>100.25</Total><Currency>949</Currency><Taksit></Taksit>"
PROOF = {"md": "4355:8F0C", "xid": "x+/=", "eci": "05", "cavv": "AAAB="}

Ask = Callable[[NestPayGateway, Order], object]


def asks(kind: str | None, elements: str) -> str:
    named = f"<Type>{kind}</Type>" if kind else ""
    return f"{HEAD}{named}{ORDER}{elements}</CC5Request>"


REQUESTS: dict[str, tuple[Ask, str]] = {
    "sale": (
        lambda bank, order: bank.authorize(payment(order)),
        asks("Auth", f"{TERMS}<Number>{CARD}</Number><Expires>03/34</Expires>"
             "<Cvv2Val>000</Cvv2Val><Mode>P</Mode>"),
    ),
    "pre-authorisation without a security code": (
        lambda bank, order: bank.authorize(payment(order, capture=False, cvc=None)),
        asks("PreAuth", f"{TERMS}<Number>{CARD}</Number><Expires>03/34</Expires><Mode>P</Mode>"),
    ),
    "sale with a proof": (
        lambda bank, order: bank.authorize(
            payment(order, cvc=None, proof=AuthenticationProof(PROOF))
        ),
        asks("Auth", f"{TERMS}<Number>4355:8F0C</Number><PayerTxnId>x+/=</PayerTxnId>"
             "<PayerSecurityLevel>05</PayerSecurityLevel>"
             "<PayerAuthenticationCode>AAAB=</PayerAuthenticationCode><Mode>P</Mode>"),
    ),
    "capture": (
        lambda bank, order: bank.capture(order, amount=4000),
        asks("PostAuth", "<Total>40.00</Total>"),
    ),
    "void": (lambda bank, order: bank.void(order), asks("Void", "")),
    "refund": (
        lambda bank, order: bank.refund(order, reference="REFUNDREFUNDREFUNDRE", amount=5),
        asks("Credit", "<Total>0.05</Total><Currency>949</Currency>"),
    ),
    "inquiry": (
        lambda bank, order: bank.inquire(order),
        asks(None, "<Extra><ORDERHISTORY>QUERY</ORDERHISTORY></Extra>"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("ask", "expected"), REQUESTS.values(), ids=REQUESTS)
def test_a_request_is_the_banks_to_the_last_byte(
    ask: Ask, expected: str, gateway: NestPayGateway, order: Order, bank: ScriptedBank
) -> None:
    bank.says()

    ask(gateway, order)

    assert bank.seen == [expected.encode()]


def test_installments_are_named_from_two_on(
    gateway: NestPayGateway, order_at: Callable[..., Order], bank: ScriptedBank
) -> None:
    bank.says()

    gateway.authorize(payment(order_at(bank.url, installments=12)))

    assert b"<Taksit>12</Taksit>" in bank.seen[0]


def test_the_payers_address_is_named_where_it_is_known(
    gateway: NestPayGateway, order_at: Callable[..., Order], bank: ScriptedBank
) -> None:
    bank.says()

    gateway.authorize(payment(order_at(bank.url, payer=Payer(ip="2001:db8::7"))))

    assert b"<Taksit></Taksit><IPAddress>2001:db8::7</IPAddress><Number>" in bank.seen[0]


# --- Nothing is sent --------------------------------------------------------------------------


def test_a_card_that_does_not_open_is_not_sent(
    gateway: NestPayGateway, order: Order, bank: ScriptedBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_sealed: object) -> None:
        raise keyring.SealBroken

    monkeypatch.setattr("vault.reveal.reveal", broken)
    bank.says()

    assert gateway.authorize(payment(order)).answer is Answer.NOT_SENT
    assert bank.seen == []


@pytest.mark.parametrize("ask", ["authorize", "refund"])
def test_a_currency_that_the_bank_has_not_is_not_sent(
    ask: str, gateway: NestPayGateway, order_at: Callable[..., Order], bank: ScriptedBank
) -> None:
    order = order_at(bank.url, currency="jpy")
    bank.says()

    outcome = (
        gateway.authorize(payment(order))
        if ask == "authorize"
        else gateway.refund(order, reference="REFUNDREFUNDREFUNDRE", amount=1)
    )

    assert outcome.answer is Answer.NOT_SENT
    assert bank.seen == []


# --- Amounts ----------------------------------------------------------------------------------

AMOUNTS = {
    1: "0.01", 435: "4.35", 820: "8.20", 114985: "1149.85",
    MAX_REQUESTED_MINOR: "9999999999.99",
}  # fmt: skip


@pytest.mark.parametrize(("amount", "text"), AMOUNTS.items())
def test_an_amount_has_exactly_two_digits(amount: int, text: str) -> None:
    assert (messages.written(amount), messages.minor(text)) == (text, amount)


@given(st.integers(1, MAX_REQUESTED_MINOR), st.sampled_from(sorted(messages.NUMERIC)))
def test_money_goes_to_text_and_back_by_digits(amount: int, currency: str) -> None:
    text = messages.written(amount)

    assert messages.minor(text) == amount
    assert messages.AMOUNT.fullmatch(text)
    assert (
        messages.numeric(currency)
        == {"try": "949", "usd": "840", "eur": "978", "gbp": "826"}[currency]
    )


@pytest.mark.parametrize(
    "text", ["1", "1.2", "1.234", "01.00", "-1.00", "1,00", "", "1.00 ", "١.٠٠"]
)
def test_another_way_to_write_an_amount_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no amount"):
        messages.minor(text)
