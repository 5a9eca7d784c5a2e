"""Answers of the API: recorded ones, and whatever a bank or the way to it may do to one."""

from collections.abc import Callable

import pytest

from acquirers import declines, issuer_codes
from acquirers.gateway import Order
from acquirers.nestpay import codes
from acquirers.nestpay.gateway import NestPayGateway
from acquirers.outcomes import Answer, Finding, Outcome, Reason
from tests.acquirers.nestpay.recorded import (
    APPROVED,
    APPROVED_EXTRA,
    CVV,
    DECLINED,
    GOOD,
    REFUSED,
    document,
    refused,
)
from tests.stage.adapters import REFERENCE, payment
from tests.stage.scripted_bank import Scripted, ScriptedBank

UNKNOWN = Answer.UNKNOWN

Pay = Callable[[bytes | Scripted], Outcome]


@pytest.fixture
def pay(gateway: NestPayGateway, order: Order, bank: ScriptedBank) -> Pay:
    def pay(answer: bytes | Scripted) -> Outcome:
        bank.says(answer)
        return gateway.authorize(payment(order))

    return pay


# --- Recorded ---------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["ISO-8859-9", "UTF-8"])
@pytest.mark.parametrize("content_type", ["text/xml", "text/xml; charset=utf-8", "application/xml"])
def test_an_approval_has_the_banks_numbers(encoding: str, content_type: str, pay: Pay) -> None:
    told = pay(Scripted(document(APPROVED, APPROVED_EXTRA, encoding), content_type))

    assert told == Outcome(
        Answer.APPROVED,
        response_code="00",
        authorization_code="P48911",
        network_reference="230200671758",
    )
    assert told.exchange.numbers == {"trans_id": "22302V8rE11732", "host_ref": "230200671758"}


def test_a_decline_is_the_issuers_with_the_banks_words(pay: Pay) -> None:
    told = pay(document(DECLINED, {"ERRORCODE": "ISO8583-82", "NUMCODE": "82"}))

    assert (told.answer, told.response_code) == (Answer.DECLINED, "82")
    assert (told.exchange.code, told.exchange.text) == ("ISO8583-82", CVV)
    assert declines.explain(told).code == "incorrect_cvc"


@pytest.mark.parametrize("is_beside", [True, False])
def test_a_refusal_names_its_reason_wherever_the_code_stands(is_beside: bool, pay: Pay) -> None:
    code = {"ERRORCODE": "CORE-2012"}
    answer = document({**REFUSED, **code}) if is_beside else document(REFUSED, code)

    told = pay(answer)

    assert (told.answer, told.reason) == (Answer.NOT_CHARGED, Reason.INCORRECT_NUMBER)
    assert (told.response_code, told.exchange.code) == (None, "CORE-2012")
    assert declines.explain(told).code == "incorrect_number"


CODES = {
    "CORE-1001": (UNKNOWN, None),
    "CORE-1005": (UNKNOWN, None),
    "CORE-1006": (Answer.NOT_CHARGED, None),
    "CORE-1028": (Answer.NOT_CHARGED, None),
    "CORE-2015": (Answer.NOT_CHARGED, Reason.INCORRECT_NUMBER),
    "CORE-2316": (Answer.NOT_CHARGED, Reason.INCORRECT_NUMBER),
    "CORE-2010": (Answer.NOT_CHARGED, Reason.EXPIRED_CARD),
    "CORE-2502": (Answer.NOT_CHARGED, Reason.EXPIRED_CARD),
    "CORE-2208": (Answer.NOT_CHARGED, Reason.INCORRECT_CVC),
    "CORE-2515": (Answer.NOT_CHARGED, Reason.INCORRECT_CVC),
    "CORE-2603": (Answer.NOT_CHARGED, Reason.TRANSACTION_NOT_ALLOWED),
    "CORE-2124": (Answer.NOT_CHARGED, Reason.TRANSACTION_NOT_ALLOWED),
    "CORE-2251": (Answer.NOT_CHARGED, Reason.FRAUDULENT),
    "CORE-2206": (Answer.NOT_CHARGED, Reason.AUTHENTICATION_REQUIRED),
    "CORE-2121": (Answer.NOT_CHARGED, None),
    "CORE-2126": (Answer.NOT_CHARGED, None),
    "CORE-2201": (Answer.NOT_CHARGED, None),
    "CORE-2254": (Answer.NOT_CHARGED, None),
    "CORE-2314": (Answer.NOT_CHARGED, None),
    "CORE-2127": (UNKNOWN, None),
    "CORE-2507": (UNKNOWN, None),
    "CORE-2304": (UNKNOWN, None),
    "CORE-2302": (UNKNOWN, None),
    "CORE-2700": (UNKNOWN, None),
    "CORE-2800": (UNKNOWN, None),
    "CORE-2900": (UNKNOWN, None),
    "CORE-3000": (UNKNOWN, None),
    "CORE-2315": (UNKNOWN, None),
    "CORE-2400": (UNKNOWN, None),
    "BM-9100": (UNKNOWN, None),
    "CORE-20120": (UNKNOWN, None),
    "CORE-": (UNKNOWN, None),
    "": (UNKNOWN, None),
}


@pytest.mark.parametrize(("code", "meaning"), CODES.items())
def test_a_code_means_what_the_table_says_and_an_unlisted_one_nothing(
    code: str, meaning: tuple[Answer, Reason | None], pay: Pay
) -> None:
    told = pay(refused(code))

    assert (told.answer, told.reason) == meaning


@pytest.mark.parametrize(
    "code", sorted({*issuer_codes.REFUSALS, "92", "02", "08", "09", "99", "ZZ"})
)
def test_an_issuers_code_is_a_decline_if_it_is_listed(code: str, pay: Pay) -> None:
    told = pay(document({**DECLINED, "ProcReturnCode": code}, {"ERRORCODE": f"ISO8583-{code}"}))

    is_listed = code in issuer_codes.REFUSALS
    soft = {"1A": Answer.AUTHENTICATION_REQUIRED, "65": Answer.AUTHENTICATION_REQUIRED}
    assert told.answer is (soft.get(code, Answer.DECLINED) if is_listed else UNKNOWN)


# --- Answers that prove nothing ---------------------------------------------------------------

SPOILT: dict[str, bytes | Scripted] = {
    "html": Scripted(b"<html><body>Service unavailable</body></html>", "text/html"),
    "html that says it is xml": b"<html><body>Service unavailable</body></html>",
    "an answer that says it is html": Scripted(GOOD, "text/html"),
    "500": Scripted(GOOD, status=500),
    "404": Scripted(GOOD, status=404),
    "a redirect": Scripted(GOOD, status=302, location="https://elsewhere.example/"),
    "half": Scripted(GOOD, sent_bytes=len(GOOD) // 2),
    "cut before its first byte": Scripted(GOOD, sent_bytes=0),
    "nothing": b"",
    "50 MB": Scripted(b"<CC5Response>" + b" " * (50 * 1024 * 1024), sent_bytes=70 * 1024),
    "over 64 KiB": document(APPROVED, {"PAD": "x" * 66_000}),
    "a dtd": GOOD.replace(b"<CC5Response>", b"<!DOCTYPE a><CC5Response>", 1),
    "an entity": GOOD.replace(
        b"<CC5Response>", b'<!DOCTYPE a [<!ENTITY e "00">]><CC5Response>', 1
    ).replace(b">00<", b">&e;<"),
    "an unknown entity": GOOD.replace(b">00<", b">&e;<"),
    "a wrong declaration": document(APPROVED, APPROVED_EXTRA).replace(b"ISO-8859-9", b"UTF-8"),
    "an encoding that nobody knows": GOOD.replace(b"ISO-8859-9", b"X-TURKISH"),
    "another root": GOOD.replace(b"CC5Response", b"CC6Response"),
    "another order's": document({**APPROVED, "OrderId": "0THER0RDER0RDER0RDER"}),
    "no order": document({**APPROVED, "OrderId": ""}),
    "an order in small letters": document({**APPROVED, "OrderId": REFERENCE.lower()}),
    "a missing response": document({k: v for k, v in APPROVED.items() if k != "Response"}),
    "a missing code": document({k: v for k, v in APPROVED.items() if k != "ProcReturnCode"}),
    "a missing order": document({k: v for k, v in APPROVED.items() if k != "OrderId"}),
    "a doubled response": GOOD.replace(
        b"<ErrMsg>", b"<Response>Declined</Response><ErrMsg>", 1
    ),
    "two extras": GOOD.replace(b"</Extra>", b"</Extra><Extra></Extra>"),
    "an element in another": GOOD.replace(b">Approved<", b"><b>Approved</b><"),
    "an attribute": GOOD.replace(b"<Response>", b'<Response is="not">'),
    "two codes": document(
        {**APPROVED, "ERRORCODE": "CORE-2012"}, {"ERRORCODE": "ISO8583-05"}
    ),
    "approved by another code": document({**APPROVED, "ProcReturnCode": "05"}),
    "approved with an error": document(APPROVED, {"ERRORCODE": "CORE-2012"}),
    "declined by 00": document({**APPROVED, "Response": "Declined"}),
    "error by 00": document({**APPROVED, "Response": "Error"}, {"ERRORCODE": "CORE-2012"}),
    "declined with the gateway's code": document(DECLINED, {"ERRORCODE": "CORE-2012"}),
    "declined by two codes": document(DECLINED, {"ERRORCODE": "ISO8583-05"}),
    "another response": document({**APPROVED, "Response": "APPROVED"}),
    "a pending one": document({**APPROVED, "Response": "Pending"}),
    "an authorisation code that is none": document({**APPROVED, "AuthCode": "P4 8911"}),
    "a number that is none": document({**APPROVED, "TransId": "2230$"}),
    "deep": b"<CC5Response>" + b"<a>" * 40 + b"</a>" * 40 + b"</CC5Response>",
}  # fmt: skip


@pytest.mark.parametrize("answer", SPOILT.values(), ids=SPOILT)
def test_an_answer_that_proves_nothing_leaves_a_payment_unknown(
    answer: bytes | Scripted, pay: Pay, bank: ScriptedBank
) -> None:
    told = pay(answer)

    assert told.answer is UNKNOWN
    assert len(bank.seen) == 1  # Nothing is sent again.
    assert told.exchange.sent_at is not None


@pytest.mark.parametrize("answer", SPOILT.values(), ids=SPOILT)
def test_an_inquiry_finds_nothing_out_by_it(
    answer: bytes | Scripted, gateway: NestPayGateway, order: Order, bank: ScriptedBank
) -> None:
    bank.says(answer)

    assert gateway.inquire(order).finding is Finding.UNKNOWN


def test_a_refused_message_that_names_no_order_is_refused(pay: Pay) -> None:
    assert pay(refused("CORE-2201", OrderId="")).answer is Answer.NOT_CHARGED
    assert pay(refused("CORE-2201", OrderId="0THER0RDER0RDER0RDER")).answer is UNKNOWN


def test_the_banks_words_never_hold_a_card(pay: Pay) -> None:
    told = pay(refused("CORE-2012", ErrMsg="4242424242424242 gecersiz"))

    assert told.exchange.text is not None
    assert "4242424242424242" not in told.exchange.text


# --- Captures, voids, refunds -----------------------------------------------------------------


def test_a_capture_takes_what_was_asked_for(
    gateway: NestPayGateway, order: Order, bank: ScriptedBank
) -> None:
    bank.says(GOOD)

    assert gateway.capture(order, amount=4000).captured == 4000


@pytest.mark.parametrize(
    ("code", "answer"),
    [
        ("CORE-2509", UNKNOWN), ("CORE-2506", UNKNOWN), ("CORE-2505", Answer.DECLINED),
        ("CORE-2512", Answer.DECLINED), ("CORE-2513", Answer.DECLINED),
        ("CORE-2119", Answer.NOT_CHARGED),
    ],
)  # fmt: skip
def test_a_refused_capture_is_a_refusal_unless_it_may_have_been_made(
    code: str, answer: Answer, gateway: NestPayGateway, order: Order, bank: ScriptedBank
) -> None:
    bank.says(refused(code))

    outcome = gateway.capture(order, amount=4000)

    assert (outcome.answer, outcome.captured) == (answer, None)


@pytest.mark.parametrize(
    ("code", "answer"),
    [
        ("CORE-2503", UNKNOWN), ("CORE-2504", UNKNOWN), ("215021", UNKNOWN),
        ("CORE-2508", Answer.DAY_OPEN),
        ("CORE-2514", Answer.DECLINED), ("CORE-2517", Answer.DECLINED),
    ],
)  # fmt: skip
def test_a_refused_refund_is_a_refusal_unless_it_may_have_been_made(
    code: str, answer: Answer, gateway: NestPayGateway, order: Order, bank: ScriptedBank
) -> None:
    bank.says(refused(code))

    assert gateway.refund(order, reference="R" * 20, amount=1).answer is answer


# --- The table --------------------------------------------------------------------------------


def test_no_code_is_of_the_gateway_and_of_doubt() -> None:
    numbers = [f"CORE-{number}" for number in range(1000, 4000)]
    sure = [code for code in numbers if codes.of_error(code).answer is not UNKNOWN]

    assert len(sure) > 1000
    assert not {"CORE-1001", "CORE-2507", "CORE-2304", "CORE-2700", "CORE-3000"} & {*sure}
    assert codes.NOTHING_TO_VOID.isdisjoint(sure)
    assert not {"00", codes.HOST_WAS_SILENT} & issuer_codes.REFUSALS
