"""Answers of the API: recorded ones, and whatever a bank or the way to it may do to one."""

from collections.abc import Callable

import pytest

from acquirers import declines, issuer_codes
from acquirers.garanti.gateway import GarantiGateway
from acquirers.gateway import Order
from acquirers.outcomes import Answer, Finding, Outcome
from tests.acquirers.garanti.conftest import NUMBER
from tests.acquirers.garanti.recorded import (
    APPROVED,
    DECLINED,
    GOOD,
    GOOD_OF_REFUNDS,
    REFUNDS,
    REFUSED,
    declined,
    document,
    refused,
)
from tests.stage.adapters import REFERENCE, payment
from tests.stage.scripted_bank import Scripted, ScriptedBank

UNKNOWN = Answer.UNKNOWN

Pay = Callable[[bytes | Scripted], Outcome]


@pytest.fixture
def pay(gateway: GarantiGateway, order: Order, bank: ScriptedBank) -> Pay:
    def pay(answer: bytes | Scripted) -> Outcome:
        bank.says(answer)
        return gateway.authorize(payment(order))

    return pay


# --- Recorded ---------------------------------------------------------------------------------


@pytest.mark.parametrize("content_type", ["text/xml", "text/xml; charset=utf-8", "application/xml"])
def test_an_approval_has_the_banks_numbers(content_type: str, pay: Pay) -> None:
    told = pay(Scripted(GOOD, content_type))

    assert told == Outcome(
        Answer.APPROVED,
        response_code="00",
        authorization_code="304919",
        network_reference=NUMBER,
    )
    assert told.exchange.numbers == {"host_ref": NUMBER}


def test_a_decline_is_the_issuers_with_the_banks_words(pay: Pay) -> None:
    told = pay(declined("51"))

    assert (told.answer, told.response_code) == (Answer.DECLINED, "51")
    assert told.exchange.code == "51"
    assert told.exchange.text == "Yetersiz bakiye · LİMİT YETERSİZ"
    assert declines.explain(told).decline_code == "insufficient_funds"


@pytest.mark.parametrize(
    ("text", "code"),
    [("CVC2/4CSC HATALI", "incorrect_cvc"), ("ISLEM YAPILAMADI", "transaction_not_allowed")],
)
def test_a_wrong_security_code_is_known_by_the_hosts_text(text: str, code: str, pay: Pay) -> None:
    told = pay(declined("12", SysErrMsg=text))

    assert told.answer is Answer.DECLINED
    assert code in (declines.explain(told).code, declines.explain(told).decline_code)


REASONS = {
    "0002": Answer.NOT_CHARGED, "0122": Answer.NOT_CHARGED, "0651": Answer.NOT_CHARGED,
    "0752": Answer.NOT_CHARGED, "0108": UNKNOWN, "0110": UNKNOWN, "0208": UNKNOWN,
    "0211": UNKNOWN, "9999": UNKNOWN, "": UNKNOWN,
}  # fmt: skip


@pytest.mark.parametrize(("reason", "answer"), REASONS.items())
def test_a_refusal_by_the_gateway_means_what_the_table_says_and_an_unlisted_one_nothing(
    reason: str, answer: Answer, pay: Pay
) -> None:
    told = pay(refused(reason))

    assert (told.answer, told.reason, told.response_code) == (answer, None, None)
    assert told.exchange.code == (f"92/{reason}" if reason else "92")


@pytest.mark.parametrize("code", sorted({*issuer_codes.REFUSALS, "92", "02", "08", "09", "99"}))
def test_an_issuers_code_is_a_decline_if_it_is_listed(code: str, pay: Pay) -> None:
    told = pay(declined(code))

    soft = {"1A": Answer.AUTHENTICATION_REQUIRED, "65": Answer.AUTHENTICATION_REQUIRED}
    is_listed = code in issuer_codes.REFUSALS
    assert told.answer is (soft.get(code, Answer.DECLINED) if is_listed else UNKNOWN)


@pytest.mark.parametrize("reason", ["0651", "0752"])
@pytest.mark.parametrize("about", [REFERENCE, ""])
def test_a_bank_that_does_not_know_our_password_cannot_sign_its_refusal(
    reason: str, about: str, pay: Pay
) -> None:
    told = pay(refused(reason, password="another", OrderID=about))

    assert (told.answer, told.exchange.code) == (Answer.NOT_CHARGED, f"92/{reason}")


@pytest.mark.parametrize(
    "changes", [{"RetrefNum": NUMBER}, {"AuthCode": "304919"}, {"OrderID": "X"}]
)
def test_such_a_refusal_that_says_more_proves_nothing(changes: dict[str, str], pay: Pay) -> None:
    assert pay(refused("0651", password="another", **changes)).answer is UNKNOWN


# --- Answers that prove nothing ---------------------------------------------------------------

OTHER = "0THER0RDER0RDER0RDER"
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
    "50 MB": Scripted(b"<GVPSResponse>" + b" " * (50 * 1024 * 1024), sent_bytes=70 * 1024),
    "over 64 KiB": document({**APPROVED, "CardHolderName": "x" * 66_000}),
    "a dtd": GOOD.replace(b"<GVPSResponse>", b"<!DOCTYPE a><GVPSResponse>", 1),
    "an entity": GOOD.replace(
        b"<GVPSResponse>", b'<!DOCTYPE a [<!ENTITY e "00">]><GVPSResponse>', 1
    ).replace(b">00<", b">&e;<"),
    "an unknown entity": GOOD.replace(b">00<", b">&e;<"),
    "a wrong declaration": document(DECLINED).decode().encode("iso-8859-9"),
    "an encoding that nobody knows": GOOD.replace(b"UTF-8", b"X-TURKISH"),
    "another root": GOOD.replace(b"GVPSResponse", b"GVPSRequest"),
    "a wrong hash": document(APPROVED, digest="A" * 128),
    "no hash": document(APPROVED, digest=""),
    "a hash in small letters": document(APPROVED, digest=("a" * 128)),
    "the refund user's hash": document(APPROVED, password=REFUNDS),
    "a decline with a wrong hash": document(DECLINED, digest="A" * 128),
    "a refusal with a wrong hash": refused("0002", password="another"),
    "another order's": document({**APPROVED, "OrderID": OTHER}),
    "no order": document({**APPROVED, "OrderID": ""}),
    "an order in small letters": document({**APPROVED, "OrderID": REFERENCE.lower()}),
    "a missing order": document({k: v for k, v in APPROVED.items() if k != "OrderID"}),
    "a missing message": document({k: v for k, v in APPROVED.items() if k != "Message"}),
    "a missing source": document({k: v for k, v in APPROVED.items() if k != "Source"}),
    "a missing code": document({k: v for k, v in APPROVED.items() if k != "Code"}),
    "a doubled code": GOOD.replace(b"<Code>", b"<Code>05</Code><Code>", 1),
    "two responses": GOOD.replace(b"<Response>", b"<Response></Response><Response>", 1),
    "two transactions": GOOD.replace(b"</Order>", b"</Order><Transaction></Transaction>", 1),
    "an element in another": GOOD.replace(b">Approved<", b"><b>Approved</b><"),
    "approved by another code": document({**APPROVED, "Code": "05"}),
    "approved for a reason": document({**APPROVED, "ReasonCode": "0208"}),
    "approved by the gateway": document({**APPROVED, "Source": "GVPS"}),
    "declined by 00": document({**APPROVED, "Message": "Declined"}),
    "declined by two codes": document({**DECLINED, "ReasonCode": "05"}),
    "refused and approved": document({**REFUSED, "ReasonCode": "0651", "Message": "Approved"}),
    "another source": document({**DECLINED, "Source": "BKM"}),
    "another message": document({**APPROVED, "Message": "APPROVED"}),
    "an authorisation code that is none": document({**APPROVED, "AuthCode": "P4 8911"}),
    "a number that is none": document({**APPROVED, "RetrefNum": "2230$"}),
    "a code of three": document({**DECLINED, "Code": "051"}),
    "deep": b"<GVPSResponse>" + b"<a>" * 40 + b"</a>" * 40 + b"</GVPSResponse>",
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
    answer: bytes | Scripted, gateway: GarantiGateway, order: Order, bank: ScriptedBank
) -> None:
    bank.says(answer)

    assert gateway.inquire(order).finding is Finding.UNKNOWN


def test_the_banks_words_never_hold_a_card(pay: Pay) -> None:
    told = pay(refused("0002", ErrorMsg="4242424242424242 gecersiz"))

    assert told.exchange.text is not None
    assert "4242424242424242" not in told.exchange.text


# --- Captures and refunds ---------------------------------------------------------------------


def test_a_capture_takes_what_was_asked_for(
    gateway: GarantiGateway, order: Order, bank: ScriptedBank
) -> None:
    bank.says(GOOD)

    assert gateway.capture(order, amount=4000).captured == 4000


@pytest.mark.parametrize(
    ("told", "answer"),
    [
        (declined("13"), Answer.DECLINED),
        (refused("0208"), UNKNOWN),
        (refused("0110"), UNKNOWN),
        (refused("0651"), Answer.NOT_CHARGED),
    ],
)
def test_a_refused_capture_is_a_refusal_unless_it_may_have_been_made(
    told: bytes, answer: Answer, gateway: GarantiGateway, order: Order, bank: ScriptedBank
) -> None:
    bank.says(told)

    outcome = gateway.capture(order, amount=4000)

    assert (outcome.answer, outcome.captured) == (answer, None)


def test_a_refund_has_the_number_that_its_line_of_the_history_has(
    gateway: GarantiGateway, order: Order, bank: ScriptedBank
) -> None:
    bank.says(GOOD_OF_REFUNDS)

    outcome = gateway.refund(order, reference="R" * 20, amount=100)

    assert (outcome.answer, outcome.network_reference) == (Answer.APPROVED, "407000985170")
    assert outcome.exchange.numbers == {"host_ref": "407000985170"}


def test_a_refund_is_not_believed_by_the_hash_of_the_user_who_sells(
    gateway: GarantiGateway, order: Order, bank: ScriptedBank
) -> None:
    bank.says(GOOD)

    assert gateway.refund(order, reference="R" * 20, amount=100).answer is UNKNOWN
