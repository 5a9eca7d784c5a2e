"""Requests as the bank gets them, to the last byte, and amounts in every currency."""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from html import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acquirers.garanti import bodies
from acquirers.garanti.access import access_of
from acquirers.garanti.gateway import GarantiGateway
from acquirers.gateway import Order, Payer
from acquirers.models import Terminal
from acquirers.outcomes import Answer
from acquirers.three_d_secure import AuthenticationProof
from core import keyring
from core.money import MAX_REQUESTED_MINOR
from tests.acquirers.garanti.conftest import NUMBER, VALUES
from tests.acquirers.garanti.recorded import (
    GOOD,
    GOOD_OF_REFUNDS,
    HELD,
    NO_RECORD,
    SALE,
    history,
)
from tests.stage.adapters import CARD, REFERENCE, payment
from tests.stage.scripted_bank import ScriptedBank

PROOF = {"md": "aW5k/ZQ==", "xid": "x+/=", "eci": "05", "cavv": "AAAB="}
SELLS, REFUNDS = ("PROVAUT", VALUES["password"]), ("PROVRFN", VALUES["refund_password"])

Ask = Callable[[GarantiGateway, Order], object]


def asks(
    transaction: str, *, amount: str, user: tuple[str, str] = SELLS, card: str = "",
    currency: str = "949",
) -> str:  # fmt: skip
    """Return the whole message, step by step as the protocol's page has it."""
    name, password = user
    secret = hashlib.sha1(f"{password}030691298".encode()).hexdigest().upper()  # noqa: S324
    number = CARD if card else ""
    text = f"{REFERENCE}30691298{number}{amount}{currency}{secret}"
    digest = hashlib.sha512(text.encode()).hexdigest().upper()
    return (
        '<?xml version="1.0" encoding="UTF-8"?><GVPSRequest><Mode>TEST</Mode><Version>512</Version>'
        f"<Terminal><ProvUserID>{name}</ProvUserID><UserID>{name}</UserID>"
        f"<HashData>{digest}</HashData><ID>30691298</ID><MerchantID>7000679</MerchantID></Terminal>"
        f"<Customer><IPAddress>198.51.100.7</IPAddress></Customer>{card}"
        f"<Order><OrderID>{REFERENCE}</OrderID></Order>"
        f"<Transaction>{transaction}</Transaction></GVPSRequest>"
    )


def transaction(kind: str, amount: str, *, present: str | None = "0", count: str = "") -> str:
    shown = f"<CardholderPresentCode>{present}</CardholderPresentCode>" if present else ""
    return (
        f"<Type>{kind}</Type><InstallmentCnt>{count}</InstallmentCnt><Amount>{amount}</Amount>"
        f"<CurrencyCode>949</CurrencyCode>{shown}<MotoInd>N</MotoInd>"
    )


def original(number: str = NUMBER) -> str:
    return f"<OriginalRetrefNum>{number}</OriginalRetrefNum>"


def card(cvc: str = "<CVV2>000</CVV2>") -> str:
    return f"<Card><Number>{CARD}</Number><ExpireDate>0334</ExpireDate>{cvc}</Card>"


REQUESTS: dict[str, tuple[Ask, str]] = {
    "sale": (
        lambda bank, order: bank.authorize(payment(order)),
        asks(transaction("sales", "10025"), amount="10025", card=card()),
    ),
    "pre-authorisation without a security code": (
        lambda bank, order: bank.authorize(payment(order, capture=False, cvc=None)),
        asks(transaction("preauth", "10025"), amount="10025", card=card("")),
    ),
    "installments": (
        lambda bank, order: bank.authorize(payment(replace(order, installments=12))),
        asks(transaction("sales", "10025", count="12"), amount="10025", card=card()),
    ),
    "sale with a proof": (
        lambda bank, order: bank.authorize(
            payment(order, cvc=None, proof=AuthenticationProof(PROOF))
        ),
        asks(
            transaction("sales", "10025", present="13")
            + "<Secure3D><AuthenticationCode>AAAB=</AuthenticationCode>"
            "<SecurityLevel>05</SecurityLevel><TxnID>x+/=</TxnID><Md>aW5k/ZQ==</Md></Secure3D>",
            amount="10025",
        ),
    ),
    "capture": (
        lambda bank, order: bank.capture(order, amount=4000),
        asks(transaction("postauth", "4000", present=None) + original(), amount="4000"),
    ),
    "void": (
        lambda bank, order: bank.void(order),
        asks(transaction("void", "100") + original(), amount="100", user=REFUNDS),
    ),
    "void after a capture": (
        lambda bank, order: bank.void(
            replace(order, numbers={"host_ref": NUMBER, "capture.host_ref": "407000985166"})
        ),
        asks(
            transaction("void", "100") + original("407000985166"), amount="100", user=REFUNDS
        ),
    ),
    "refund": (
        lambda bank, order: bank.refund(order, reference="REFUNDREFUNDREFUNDRE", amount=5),
        asks(transaction("refund", "5") + original(), amount="5", user=REFUNDS),
    ),
    "inquiry": (
        lambda bank, order: bank.inquire(order),
        asks(transaction("orderhistoryinq", "100"), amount="100"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("ask", "expected"), REQUESTS.values(), ids=REQUESTS)
def test_a_request_is_the_banks_to_the_last_byte(
    ask: Ask, expected: str, gateway: GarantiGateway, order: Order, bank: ScriptedBank
) -> None:
    bank.says()

    ask(gateway, order)

    assert bank.seen == [expected.encode()]


def test_the_payers_address_is_named_where_it_is_known(
    gateway: GarantiGateway, order_at: Callable[..., Order], bank: ScriptedBank
) -> None:
    bank.says()

    gateway.authorize(payment(order_at(bank.url, payer=Payer(ip="2001:db8::7"))))

    assert b"<Customer><IPAddress>2001:db8::7</IPAddress></Customer>" in bank.seen[0]


def test_an_operators_values_are_escaped(
    gateway: GarantiGateway, order_at: Callable[..., Order], bank: ScriptedBank
) -> None:
    bank.says()

    gateway.inquire(order_at(bank.url, user="<İ&>"))

    assert f"<UserID>{escape('<')}&#304;{escape('&>')}</UserID>".encode() in bank.seen[0]


# --- Numbers that are asked for first ---------------------------------------------------------


def test_a_number_that_was_never_heard_is_asked_for_first(
    gateway: GarantiGateway, order: Order, bank: ScriptedBank
) -> None:
    bank.says(history(HELD), GOOD)

    outcome = gateway.capture(replace(order, numbers={}), amount=4000)

    assert (outcome.answer, outcome.captured) == (Answer.APPROVED, 4000)
    assert b"orderhistoryinq" in bank.seen[0]
    assert original().encode() in bank.seen[1]
    assert outcome.after is not None
    assert outcome.after.answer is Answer.NO_RECORD  # Of a capture.


def test_a_history_that_is_read_for_a_refund_says_nothing_of_it(
    gateway: GarantiGateway, order: Order, bank: ScriptedBank
) -> None:
    bank.says(history(SALE), GOOD_OF_REFUNDS)

    outcome = gateway.refund(replace(order, numbers={}), reference="R" * 20, amount=100)

    assert outcome.answer is Answer.APPROVED
    assert outcome.after is not None
    assert outcome.after.answer is Answer.UNKNOWN


@pytest.mark.parametrize("told", [NO_RECORD, b"", history({**SALE, "RetrefNum": ""})])
def test_nothing_is_sent_without_a_number(
    told: bytes, gateway: GarantiGateway, order: Order, bank: ScriptedBank
) -> None:
    bank.says(told)

    outcome = gateway.void(replace(order, numbers={}))

    assert outcome.answer is Answer.NOT_SENT
    assert len(bank.seen) == 1


# --- Nothing is sent --------------------------------------------------------------------------


def test_a_card_that_does_not_open_is_not_sent(
    gateway: GarantiGateway, order: Order, bank: ScriptedBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_sealed: object) -> None:
        raise keyring.SealBroken

    monkeypatch.setattr("vault.reveal.reveal", broken)
    bank.says()

    assert gateway.authorize(payment(order)).answer is Answer.NOT_SENT
    assert bank.seen == []


@pytest.mark.parametrize("ask", ["authorize", "refund"])
def test_a_currency_that_the_bank_has_not_is_not_sent(
    ask: str, gateway: GarantiGateway, order_at: Callable[..., Order], bank: ScriptedBank
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


@given(
    st.one_of(st.sampled_from([1, 435, 820, 114985, MAX_REQUESTED_MINOR]),
              st.integers(1, MAX_REQUESTED_MINOR)),
    st.sampled_from(["try", "usd", "eur", "gbp"]),
)  # fmt: skip
def test_money_goes_to_text_by_digits(amount: int, currency: str) -> None:
    terminal = Terminal(shown_values={**VALUES, "api_url": "https://bank.example/VPServlet"})
    order = Order(REFERENCE, terminal, "mer_acme", amount, currency)

    sent = bodies.refund(order, access_of(terminal), amount=amount, number=NUMBER).content.decode()

    assert f"<Amount>{''.join(str(amount))}</Amount>" in sent
    number = {"try": "949", "usd": "840", "eur": "978", "gbp": "826"}[currency]
    assert f"<CurrencyCode>{number}</CurrencyCode>" in sent
