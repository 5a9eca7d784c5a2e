"""The NestPay API of the simulated bank: payments, captures, voids, refunds, history."""

import re
from datetime import timedelta
from typing import Any

import pytest

from core import clock
from testbank.models import Authorization, Capture, Repayment, Reversal
from testbank.states import State
from tests.stage import nestpay_shop as shop
from tests.stage.bank_days import begin_at_noon
from tests.stage.bank_orders import inquire as look_up
from tests.stage.nestpay_shop import (
    DONE,
    ORDER_ID,
    SECOND,
    capture,
    history,
    hold,
    pay,
    refund,
    refused,
    said,
    void,
)

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

THE_NEXT_DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def _at_noon() -> None:
    begin_at_noon()


# --- Payments ---------------------------------------------------------------------------------


def test_a_sale_is_approved_and_stands_in_the_one_book() -> None:
    told = pay()

    [booked] = Authorization.objects.all()
    assert said(told) == DONE
    assert (told["OrderId"], told["GroupId"]) == (ORDER_ID, ORDER_ID)
    assert told["AuthCode"] == booked.authorization_code
    assert re.fullmatch("[0-9]{12}", told["HostRefNum"])
    assert re.fullmatch("[0-9]{8} [0-9:]{8}", told["TRXDATE"])
    assert (booked.reference, booked.merchant) == (ORDER_ID, shop.FIRST.client_id)
    assert (booked.amount, booked.captured_amount, booked.currency) == (12500, 12500, "try")
    assert Capture.objects.get().amount == 12500
    assert look_up(ORDER_ID)["result"] == "approved"


def test_a_request_may_come_in_a_form_field() -> None:
    given = shop.payment(IPAddress="2001:db8::7")

    assert said(shop.ask_as_form(given)) == DONE


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        ("4000000000009995", ("Declined", "51", "ISO8583-51")),
        ("4000000000000127", ("Declined", "82", "ISO8583-82")),
        ("4000000000000119", ("Declined", "96", "ISO8583-96")),
        ("4000002760003184", ("Declined", "1A", "ISO8583-1A")),
        ("4100000000000019", ("Declined", "34", "ISO8583-34")),
        ("4000056655665556", ("Declined", "14", "ISO8583-14")),
        ("4000001100000033", refused("CORE-2304")),
    ],
)
def test_a_no_comes_with_the_issuers_code(number: str, expected: tuple[str, str, str]) -> None:
    told = pay(number)

    assert said(told) == expected
    assert told["AuthCode"] == ""
    assert told["NUMCODE"] == {"CORE-2304": "992304"}.get(expected[2], expected[1])
    assert not Capture.objects.exists()


@pytest.mark.parametrize(
    ("number", "state", "status"),
    [
        ("4000001100000017", State.AUTHORIZED, "C"),
        ("4000001100000025", State.DECLINED, "D"),
    ],
)
def test_a_silent_bank_has_written_its_book(number: str, state: State, status: str) -> None:
    assert shop.send(shop.written(shop.payment(number))) == (504, b"")

    assert Authorization.objects.get().state == state
    assert [line["status"] for line in history()] == [status]


def test_a_bank_that_does_not_know_says_so_for_ever() -> None:
    shop.send(shop.written(shop.payment("4000001100000058")))

    assert said(shop.inquire()) == refused("CORE-1003")
    clock.advance(THE_NEXT_DAY)
    assert said(shop.inquire("ORDERSTATUS")) == refused("CORE-1003")


@pytest.mark.parametrize(("number", "end"), [("4000001100000033", "C"), ("4000001100000041", "D")])
def test_a_pending_payment_is_decided_later(number: str, end: str) -> None:
    pay(number)

    assert [line["status"] for line in history()] == ["PN"]
    assert said(pay(number)) == refused("CORE-2304")
    clock.advance(timedelta(seconds=5))
    assert [line["status"] for line in history()] == [end]


def test_an_order_that_has_succeeded_is_refused_and_one_that_was_declined_is_not() -> None:
    pay("4000000000009995")

    assert said(pay()) == DONE
    assert said(pay()) == refused("CORE-2507")
    void()
    assert said(pay()) == refused("CORE-2507")
    assert [line["status"] for line in history()] == ["V", "D"]


def test_a_second_try_stands_in_the_book_under_the_banks_own_number() -> None:
    pay("4000000000009995")
    told = pay()

    [first, second] = Authorization.objects.order_by("pk")
    assert (first.reference, first.state) == (ORDER_ID, State.DECLINED)
    assert (second.reference, second.state) == (told["TransId"], State.AUTHORIZED)


def test_another_terminal_knows_nothing_of_the_order() -> None:
    pay()

    assert shop.history(terminal=SECOND) == []
    assert said(pay(terminal=SECOND)) == DONE
    assert Authorization.objects.count() == 2


@pytest.mark.parametrize(
    ("total", "minor"),
    [("0.01", 1), ("4.35", 435), ("8.20", 820), ("1149.85", 114985), ("9999999999.99", 10**12 - 1)],
)
@pytest.mark.parametrize(
    ("numeric", "currency"), [("949", "try"), ("840", "usd"), ("978", "eur"), ("826", "gbp")]
)
def test_an_amount_is_booked_digit_by_digit(
    total: str, minor: int, numeric: str, currency: str
) -> None:
    pay(Total=total, Currency=numeric)

    booked = Authorization.objects.get()
    assert (booked.amount, booked.currency) == (minor, currency)


# --- Captures and voids -----------------------------------------------------------------------


def test_a_part_is_captured_once_and_the_rest_released() -> None:
    hold()

    assert said(capture("100.00")) == DONE

    [line] = history()
    assert (line["type"], line["status"], line["amount"], line["captured"]) == (
        "S",
        "C",
        "12500",
        "10000",
    )
    assert said(capture("25.00")) == refused("CORE-2509")
    assert Capture.objects.get().amount == 10000


def test_a_capture_is_refused_by_what_the_order_lets() -> None:
    assert said(capture()) == refused("CORE-2509")
    hold()
    assert said(capture("125.01")) == refused("CORE-2505")
    assert said(capture(Currency="840")) == refused("CORE-2119")
    void()
    assert said(capture()) == refused("CORE-2506")


def test_a_sale_has_nothing_to_capture() -> None:
    pay()

    assert said(capture()) == refused("CORE-2509")


def test_a_pre_authorization_is_too_old_to_capture() -> None:
    hold()
    clock.advance(timedelta(days=8))

    assert said(capture()) == refused("CORE-2513")
    assert [line["status"] for line in history()] == ["CNCL"]


def test_the_card_that_fails_captures_is_declined() -> None:
    hold("4000001100000066")

    assert said(capture()) == ("Declined", "96", "ISO8583-96")


def test_a_sale_is_voided_on_its_day_and_once() -> None:
    pay()

    assert said(void()) == DONE

    [line] = history()
    assert line["status"] == "V"
    assert line["voided_at"]
    assert Reversal.objects.get().amount == 12500
    assert said(void()) == refused("CORE-2008")


def test_a_void_comes_too_late_on_the_next_day() -> None:
    pay()
    clock.advance(THE_NEXT_DAY)

    assert said(void()) == refused("CORE-2008")
    assert [line["status"] for line in history()] == ["S"]
    assert not Reversal.objects.exists()


def test_a_void_of_nothing_and_one_that_the_card_refuses() -> None:
    assert said(void()) == refused("CORE-2008")
    pay("4000001100000074")
    assert said(void()) == ("Declined", "05", "ISO8583-05")


def test_two_payments_that_were_in_the_air_are_voided_by_their_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = pay()
    # The second has passed this question while the first was not written yet.
    monkeypatch.setattr("testbank.nestpay.host.refuse_second", lambda _payment: None)

    assert said(pay()) == DONE

    assert said(void()) == refused("CORE-2133")
    assert said(void(TransId="24001AAAAA00000z")) == refused("CORE-2120")
    assert said(void(TransId=first["TransId"])) == DONE
    assert [line["status"] for line in history()] == ["C", "V"]


# --- Refunds ----------------------------------------------------------------------------------


def test_a_refund_waits_for_the_end_of_the_day() -> None:
    pay()

    told = refund("25.00")

    assert said(told) == refused("CORE-2508")
    [failed, _sale] = history()
    assert (failed["type"], failed["status"], failed["code"]) == ("C", "D", "99")
    assert (failed["amount"], failed["trans_id"]) == ("2500", told["TransId"])
    assert not Repayment.objects.exists()


def test_refunds_have_no_names_and_none_is_a_repetition() -> None:
    pay()
    clock.advance(THE_NEXT_DAY)

    assert said(refund("25.00")) == said(refund("25.00")) == DONE

    assert [(line["type"], line["status"], line["amount"]) for line in history()] == [
        ("C", "C", "2500"),
        ("C", "C", "2500"),
        ("S", "S", "12500"),
    ]
    assert sorted(Repayment.objects.values_list("amount", flat=True)) == [2500, 2500]
    assert said(refund("75.01")) == refused("CORE-2503")
    assert said(refund("75.00")) == DONE
    assert said(refund("0.01")) == refused("CORE-2504")


def test_a_refund_is_of_the_sales_currency_and_of_captured_money() -> None:
    assert said(refund()) == refused("CORE-2501")
    hold()
    assert said(refund()) == refused("CORE-2501")
    capture()
    clock.advance(THE_NEXT_DAY)
    assert said(refund(Currency="840")) == refused("CORE-2119")


@pytest.mark.parametrize(
    ("number", "answer", "before", "after"),
    [
        ("4000000000007726", refused("CORE-2304"), "PN", "C"),
        ("4000000000005126", refused("CORE-2304"), "PN", "D"),
        ("4000001100000074", ("Declined", "05", "ISO8583-05"), "D", "D"),
    ],
)
def test_cards_whose_refunds_do_not_end_at_once(
    number: str, answer: tuple[str, str, str], before: str, after: str
) -> None:
    pay(number)
    clock.advance(THE_NEXT_DAY)

    assert said(refund()) == answer
    assert history()[0]["status"] == before
    clock.advance(timedelta(seconds=5))
    assert history()[0]["status"] == after


# --- Inquiries --------------------------------------------------------------------------------


def test_an_unknown_order_is_told_as_a_decline() -> None:
    told = shop.inquire()

    assert (told["Response"], told["ProcReturnCode"], told["TRXCOUNT"]) == ("Declined", "05", "0")
    assert told["ErrMsg"] == f"No record found for {ORDER_ID}"
    told = shop.inquire("ORDERSTATUS")
    assert (told["Response"], told["ProcReturnCode"], told["OrderId"]) == ("Declined", "99", "")


def test_a_line_has_the_times_of_istanbul_and_the_banks_numbers() -> None:
    told = hold()

    [line] = history()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}", line["authorized_at"])
    assert (line["captured"], line["captured_at"], line["voided_at"]) == ("", "", "")
    assert (line["status"], line["code"]) == ("A", "00")
    numbers = (told["HostRefNum"], told["AuthCode"], told["TransId"])
    assert (line["host_ref"], line["auth_code"], line["trans_id"]) == numbers


def test_the_status_hides_the_sale_behind_a_refund_that_failed() -> None:
    pay()
    assert shop.inquire("ORDERSTATUS")["TRANS_STAT"] == "C"
    refund("25.00")

    told = shop.inquire("ORDERSTATUS")

    assert (told["Response"], told["CHARGE_TYPE_CD"], told["TRANS_STAT"]) == ("Approved", "C", "D")
    assert told["PROC_RET_CD"] == "99"


def test_a_host_that_writes_decimals_and_another_encoding() -> None:
    pay(terminal=SECOND)

    [line] = history(terminal=SECOND)
    assert (line["amount"], line["captured"]) == ("125.00", "125.00")
    _status, content = shop.send(shop.written(shop.payment(terminal=SECOND)))
    assert b'encoding="UTF-8"' in content
    assert "işlemi".encode() in content
    assert content.index(b"<ERRORCODE>CORE-2507") < content.index(b"<Extra>")


def test_turkish_letters_are_in_the_declared_encoding() -> None:
    pay()

    _status, content = shop.send(shop.written(shop.payment()))

    assert b'encoding="ISO-8859-9"' in content
    assert "başarılı".encode("iso-8859-9") in content


def test_a_payment_asks_the_database_little(
    django_assert_max_num_queries: Any,
) -> None:
    pay(OrderId="0RDER1")

    # Is anything planned, is the order new, payment, capture, line; and the savepoint of a test.
    with django_assert_max_num_queries(7, using="bank"):
        assert said(pay()) == DONE
